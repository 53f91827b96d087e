# sh serve.sh FILE COMMAND...: runs a server, and has it read its files again (SIGHUP) when FILE has changed.
#
# Kubernetes brings a Secret's new content into a running pod, and nginx reads its files when it starts and at SIGHUP
# (nginx.org, Controlling nginx). It checks them first: with files that it cannot read it goes on as before.
# This process is the container's first, so what a kubelet stops the container by goes on to the server.
set -u
file=$1
shift
"$@" &
server=$!
trap 'kill -QUIT "$server"' QUIT TERM
seen=$(cksum < "$file")
while kill -0 "$server" 2> /dev/null; do
  sleep 2 &
  wait "$!"
  now=$(cksum < "$file")
  if [ "$now" != "$seen" ]; then
    seen=$now
    echo "$file has changed" >&2
    kill -HUP "$server"
  fi
done
wait "$server"
