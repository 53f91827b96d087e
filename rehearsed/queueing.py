"""How vLLM processes requests: a queue, a batch that decodes in step, prefills in between, a KV cache. Pure.

The model, whose numbers are those of `Speed` and `Shape` and of nothing measured here:

* Requests come evenly spaced and are all alike (`Shape`). They wait until a place in the batch (`--max-num-seqs`) and
  room in the KV cache for the whole request are free; first come, first served (vLLM, "Scheduler").
* The engine does one thing at a time: it prefills the next request that was let in, or it makes one step of decoding
  for all that run. A prefill takes the model's operations on the prompt; a step reads the weights once and the cached
  tokens of the batch, both at the memory's rate (Pope et al. 2022, "Efficiently Scaling Transformer Inference").
* All requests that run advance alike, so the state is a clock of tokens: a request ends when the clock has gone on by
  its output. Time goes from event to event; nothing is random.
"""

from collections import deque
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Shape:
    """Tokens of a request. Default: the means of ShareGPT, 161 in and 338 out.

    Source: Kwon et al. 2023, "Efficient Memory Management for LLM Serving with PagedAttention", figure 11.
    """

    prompt: int = 161
    output: int = 338

    @property
    def total(self) -> int:
        return self.prompt + self.output


@dataclass(frozen=True)
class Speed:
    """A replica: seconds of a prefill, of a step, of reading one cached token in a step, and its limits."""

    prefill_s: float
    step_s: float
    token_s: float
    max_seqs: int
    kv_tokens: int


@dataclass
class Request:
    """One request: when it came, was let in, had its first token; `end` is on the clock of tokens."""

    came: float
    let_in: float = 0.0
    first: float = 0.0
    end: float = 0.0


@dataclass(frozen=True)
class Done:
    """A request that was answered: seconds of each phase, as vLLM counts them."""

    queued: float
    prefill: float
    decode: float

    @property
    def first_token(self) -> float:
        return self.queued + self.prefill

    @property
    def whole(self) -> float:
        return self.first_token + self.decode


@dataclass
class Engine:
    """The state of one replica at `now` (seconds of any clock)."""

    speed: Speed
    shape: Shape = field(default_factory=Shape)
    now: float = 0.0
    waiting: deque[Request] = field(default_factory=deque)
    prefilling: deque[Request] = field(default_factory=deque)
    decoding: deque[Request] = field(default_factory=deque)
    tokens: float = 0.0
    busy: float = 0.0
    came: int = 0
    prefills: int = 0
    generated: float = 0.0
    _due: float = 0.0
    _left: float = 0.0
    _ends: float = 0.0

    @property
    def running(self) -> int:
        return len(self.prefilling) + len(self.decoding)

    @property
    def kv_used(self) -> float:
        """Share of the KV cache that holds tokens."""
        return min(1.0, (self._cached() + self.shape.prompt * len(self.prefilling)) / self.speed.kv_tokens)

    def _cached(self) -> float:
        """Tokens in the cache of those that decode."""
        return max(0.0, len(self.decoding) * (self.shape.total + self.tokens) - self._ends)

    @property
    def most(self) -> int:
        """Requests that can run at once; one always can."""
        return max(1, min(self.speed.max_seqs, self.speed.kv_tokens // self.shape.total))

    def advance(self, until: float, rps: float) -> list[Done]:
        """Goes on to a time while `rps` requests a second come; those that were answered on the way, in order."""
        done: list[Done] = []
        while self.now < until:
            self._let_in()
            arrival = (1.0 - self._due) / rps if rps > 0 else float("inf")
            work = self._work()
            span = min(until - self.now, arrival, work if work is not None else float("inf"))
            self._pass(span, work is not None)
            self._due += span * rps
            if rps > 0 and self._due >= 1.0 - 1e-9:
                self._due = 0.0
                self.came += 1
                self.waiting.append(Request(self.now))
            done += self._finish()
        self._let_in()
        return done

    def _let_in(self) -> None:
        while self.waiting and self.running < self.most:
            request = self.waiting.popleft()
            request.let_in = self.now
            if not self.prefilling:
                self._left = self.speed.prefill_s
            self.prefilling.append(request)

    def _work(self) -> float | None:
        """Seconds until what the engine does now is done; None if there is nothing to do."""
        if self.prefilling:
            return self._left
        if self.decoding:
            return max(0.0, self.decoding[0].end - self.tokens) * self._step()
        return None

    def _step(self) -> float:
        return self.speed.step_s + self.speed.token_s * self._cached()

    def _pass(self, span: float, works: bool) -> None:
        """Time goes by; a step of decoding is as long as at its beginning."""
        self.now += span
        if not works:
            return
        self.busy += span
        if self.prefilling:
            self._left -= span
            return
        step = self._step()
        self.tokens += span / step
        self.generated += span / step * len(self.decoding)

    def _finish(self) -> list[Done]:
        if self.prefilling and self._left <= 1e-9:
            request = self.prefilling.popleft()
            request.first, request.end = self.now, self.tokens + self.shape.output - 1
            self.prefills += 1
            self.generated += 1
            self.decoding.append(request)
            self._ends += request.end
            self._left = self.speed.prefill_s
        done = []
        while self.decoding and self.decoding[0].end <= self.tokens + 1e-6:
            each = self.decoding.popleft()
            self._ends -= each.end
            done.append(Done(each.let_in - each.came, each.first - each.let_in, self.now - each.first))
        if not self.decoding:
            self.tokens = self._ends = 0.0
        return done
