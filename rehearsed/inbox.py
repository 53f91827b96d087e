"""What reaches people: a topic of the account, read as its subscribers read it."""

import json

from rehearsal.keys import Account


class Inbox:
    """A queue that is subscribed to a topic, as whoever is told is: what reached it, and which addresses are told."""

    def __init__(self, account: Account, region: str, topic: str) -> None:
        self._sns, self._sqs, self._topic = account.client("sns", region), account.client("sqs", region), topic
        self._queue = str(self._sqs.create_queue(QueueName=f"inbox-{topic.rpartition(':')[2]}"[:80])["QueueUrl"])
        told = self._sqs.get_queue_attributes(QueueUrl=self._queue, AttributeNames=["QueueArn"])["Attributes"]
        made = self._sns.subscribe(TopicArn=topic, Protocol="sqs", Endpoint=told["QueueArn"])
        self._subscription = made["SubscriptionArn"]
        self._read: list[str] = []

    @property
    def emails(self) -> list[str]:
        """The addresses that get what is told by mail."""
        found = self._sns.list_subscriptions_by_topic(TopicArn=self._topic)["Subscriptions"]
        return sorted(each["Endpoint"] for each in found if each["Protocol"] == "email")

    @property
    def subjects(self) -> list[str]:
        """The subjects of all that was told until now, in its order."""
        while told := self._sqs.receive_message(QueueUrl=self._queue, MaxNumberOfMessages=10).get("Messages"):
            for each in told:
                self._read.append(json.loads(each["Body"])["Subject"])
                self._sqs.delete_message(QueueUrl=self._queue, ReceiptHandle=each["ReceiptHandle"])
        return self._read

    def leave(self) -> None:
        """Take subscription and queue away."""
        self._sns.unsubscribe(SubscriptionArn=self._subscription)
        self._sqs.delete_queue(QueueUrl=self._queue)
