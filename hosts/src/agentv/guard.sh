# AgentV records a PASS for programs that are killed or print no JSON
# object, may die with those that do not read their input, and when
# time is up ends nothing but this shell.
exec 3<&0
answer=$(
  $(command -v setsid) "$0" "$@" <&3 &
  evaluator=$!
  {
    while kill -0 $$; do sleep 1; done
    kill -9 -$evaluator || kill -9 $evaluator
  } >/dev/null 2>&1 3<&- &
  wait $evaluator
  status=$?
  kill $!
  exit $status
)
status=$?
cat <&3 >/dev/null
if [ $status != 0 ]; then
  echo "the evaluator ended with status $status" >&2
  exit $status
fi
# One object: beside its texts there is nothing that JSON has not.
shape=$(printf %s "$answer" |
  LC_ALL=C sed 's/\\.//g; s/"[^"]*"//g' | tr -d ' \t\r\n')
case $shape in
*}{* | *[!][{}:,0-9.eE+truefalsn-]*) ;;
{*}) printf %s "$answer" && exit ;;
esac
echo 'the evaluator did not answer with one JSON object' >&2
exit 1
