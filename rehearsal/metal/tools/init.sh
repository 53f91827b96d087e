# The first process of a host: what a boot does from files, then the SSH server.
mkdir -p /run/sshd
chmod 755 /run/sshd
/usr/bin/systemctl .boot >/var/log/boot.log 2>&1
: >/run/booted
/usr/sbin/sshd -D -e 2>>/var/log/sshd.log &
wait $!
