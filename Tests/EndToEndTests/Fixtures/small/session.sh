# What an operator of the small install does on a Debian that has nothing else, as root, in a network of its own. Where a comment names a
# section of the page (deploy/docs/small-install.md), the commands of that section are put.
set -eu
trap '[ $? = 0 ] || tail -n 40 /run/units/*.log >&2' EXIT
fail() { echo "session: $*" >&2; exit 1; }
# says EXPECTED COMMAND...: what it prints is that.
says() { expected=$1; shift; said=$("$@") || true; [ "$said" = "$expected" ] || fail "$*: $said, not $expected"; }
status() { curl -sS -o /dev/null -w '%{http_code}' "$@"; }
# ask CLIENT NAME: asks for a mail from another address of this machine, and says that it is from elsewhere.
ask() {
    status --interface "127.0.0.$1" -H "X-Forwarded-For: 192.0.2.${2#*-}" "https://$SITE/api/auth/password/forgot" \
        --json "{\"email\":\"$2@example.com\"}"
}
# upload ARGUMENTS...: what the API says of a video of 100 MiB that is none.
upload() {
    head -c 104857600 /dev/zero | curl -s "https://$SITE/api/posts" "$@" -F "video=@-;filename=a.mp4;type=video/mp4" | jq -r .error.reason
}
# trust AUTHORITY: curl knows the site's address, and who its certificate is of.
trust() {
    printf 'resolve = "%s"\n' "$SITE:80:127.0.0.1" "$SITE:443:127.0.0.1" >/root/.curlrc
    echo "cacert = $1" >>/root/.curlrc
}
# proxied NUMBER: all that a proxy must do, at https://$SITE.
proxied() {
    says 308 status "http://$SITE/api/health"
    says ok eval "curl -sS https://$SITE/api/health | jq -r .status"
    # Live events come at once.
    curl -sSN "https://$SITE/api/events" -H "Authorization: Bearer $ADA" >/root/events &
    events=$!
    for try in $(seq 100); do grep -q . /root/events && break; sleep 0.1; done
    says 200 status -X POST "https://$SITE/api/notifications/test" -H "Authorization: Bearer $ADA"
    for try in $(seq 100); do grep -q '^event: notification' /root/events && break; sleep 0.1; done
    grep -q '^event: notification' /root/events || fail "no event came: $(cat /root/events)"
    kill $events
    # Signed-out clients are counted by their addresses, not by what they say of themselves, nor all as one.
    for number in $(seq 30); do says 202 ask "$1" "$1-$number"; done
    says 429 ask "$1" "$1-31"
    says 202 ask "9$1" "$1-31"
    # A video of the greatest size comes through, so that the API says what is wrong with it; one that may not be sent is refused at once.
    says UNSUPPORTED_VIDEO_TYPE upload -H "Authorization: Bearer $ADA" -F latitude=52.5 -F longitude=13.4
    says AUTHENTICATION_REQUIRED upload
}
#page Install
says 700:streaksnap stat -c %a:%U /var/lib/streaksnap-up
says 600:root stat -c %a:%U /etc/streaksnap/up.env
says 600:streaksnap stat -c %a:%U /var/lib/streaksnap-up/secrets/postgres-admin
says streaksnap stat -c %U "/proc/$(cat /run/units/streaksnap-up.pid)"
says enabled /usr/bin/systemctl is-enabled streaksnap-up
says "" eval "systemd-analyze verify streaksnap-up.service 2>&1"
# An upgrade asks policy-rc.d, which says no here, before it restarts anything.
mkdir -p /run/systemd/system
/var/lib/dpkg/info/streaksnap.postinst configure 0.1.0
rmdir /run/systemd/system
! grep -q restart /run/units/asked || fail "it was restarted"
says 404 status http://127.0.0.1:8080/demo
says 404 status http://127.0.0.1:8080/api/dev/clock --json '{"advance_seconds":60}'
#page TLS with nginx
trust /etc/streaksnap/tls/certificate.pem
#readme
EMAIL=ada$N@example.com
proxied 2
systemctl stop nginx
#page TLS with Caddy
trust /var/lib/caddy/.local/share/caddy/pki/authorities/local/root.crt
proxied 3
#page The first administrator
#page Backup
says 600:root stat -c %a:%U /var/backups/streaksnap.tar
# What came after it is gone.
curl -sS -X PUT http://127.0.0.1:8080/api/users/me -H "Authorization: Bearer $BEN" --json '{"display_name":"Later"}' | jq -e .success
#page Restore
curl -fsS --retry 60 --retry-delay 1 --retry-all-errors http://127.0.0.1:8080/readyz
says 700:streaksnap stat -c %a:%U /var/lib/streaksnap-up
says Ben eval "curl -sS https://$SITE/api/users/me -H 'Authorization: Bearer $BEN' | jq -r .data.display_name"
says 1 eval "curl -sS https://$SITE/api/streaks -H 'Authorization: Bearer $BEN' | jq .data.streaks[0].current_count"
photo=$(curl -sS "https://$SITE/api/photos/feed" -H "Authorization: Bearer $BEN" | jq -r .data.items[0].friend_snap.photo_url)
says 200 status "$photo"
# A package that is removed leaves no settings, and all data.
systemctl stop caddy streaksnap-up
dpkg --purge streaksnap
[ ! -e /etc/streaksnap/up.env ] || fail "settings stay"
says 700:streaksnap stat -c %a:%U /var/lib/streaksnap-up/secrets
echo "session: done"
