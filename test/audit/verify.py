"""Verifies an export of the usage log in plain Python: python3 verify.py EXPORT [CHECKPOINT...]
Checks chain, hashes, exchanges and Merkle tree. Does not check signatures: the standard library lacks Ed25519."""
import base64, functools, hashlib, json, sys

sha256 = lambda *parts: hashlib.sha256(b"".join(parts)).digest()
canonical = lambda value: json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
def committed(line, salt):  # the commitment to the exchange in this line, which ends in the captured bytes
    return "sha256:" + sha256(b"sidegate-audit/v1/content\n", base64.b64decode(salt), line[line.index(b'"content":') + 10:-3]).hex()

def push(tree, leaf):  # tree: [level, hash] of complete subtrees, left to right
    tree.append((0, leaf))
    while len(tree) > 1 and tree[-1][0] == tree[-2][0]:
        (level, left), (_, right) = tree[-2:]
        tree[-2:] = [(level + 1, sha256(b"\1", left, right))]

def root(tree):
    return base64.b64encode(functools.reduce(lambda node, left: sha256(b"\1", left[1], node), tree[-2::-1], tree[-1][1])).decode()

text = open(sys.argv[1], "rb").read().rstrip() + b"\n"
lines = [(json.loads(line), line) for line in text.splitlines(keepends=True)]
entries = [value for value, _ in lines if "seq" in value]
exchanges = {value["exchange"]["seq"]: committed(line, value["exchange"]["salt"]) for value, line in lines if "exchange" in value}
notes = [value["checkpoint"] for value, _ in lines if "checkpoint" in value] + [open(file).read() for file in sys.argv[2:]]
prunes = {entry["first_seq"]: entry for entry in entries if entry["type"] == "prune"}
first, tree, roots, previous = entries[0]["seq"], None, {}, entries[0]["prev"]
for seq, (entry, line) in enumerate((pair for pair in lines if "seq" in pair[0]), first):
    if seq == 0: tree = []
    elif tree is None and seq in prunes:
        tree = list(zip([level for level in range(52, -1, -1) if seq >> level & 1], map(base64.b64decode, prunes[seq]["frontier"])))
        assert prunes[seq]["head"] == previous, f"{seq}: differs from the prune entry"
    digest, hashed = entry.pop("hash"), canonical(entry)
    assert line == hashed[:-1] + b',"hash":"' + digest.encode() + b'"}\n', f"{seq}: not in canonical form"
    assert digest == "sha256:" + sha256(b"sidegate-audit/v1/entry\n", hashed).hex(), f"{seq}: the hash does not match"
    assert (entry["seq"], entry["prev"], entry["log"]) == (seq, previous, entries[0]["log"]), f"{seq}: not the next one"
    assert exchanges.pop(seq, entry.get("content_hash")) == entry.get("content_hash"), f"{seq}: not the exchange it commits to"
    previous = digest
    if tree is not None:
        push(tree, sha256(b"\0", bytes.fromhex(digest[7:])))
        roots[seq + 1] = root(tree)
assert tree is not None, f"{first}: the beginning is missing"
assert not exchanges, f"exchanges of no entry: {sorted(exchanges)}"
for note in notes:
    origin, size, signed_root = note.split("\n")[:3]
    assert origin == "sidegate/" + entries[0]["log"], f"a checkpoint of {origin}"
    assert int(size) <= seq + 1, f"the log had {size} entries"
    assert roots.get(int(size), signed_root) == signed_root, f"the first {size} entries differ from the signed ones"
print(f"{len(entries)} entries from {first} on, {len(notes)} checkpoints, root {roots.get(seq + 1)}")
