import sys
p=open(sys.argv[2]).read()
assert p==sys.argv[1], (p, sys.argv)
open(sys.argv[5],"w").write(p+"|"+sys.argv[3]+"|"+sys.argv[4])
