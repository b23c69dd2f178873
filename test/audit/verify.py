"""Checks an export of the usage log with nothing but Python: python3 verify.py EXPORT [CHECKPOINT...]
Chain, hashes and Merkle tree; Ed25519 is not in the standard library, so who signed a checkpoint is not checked."""
import base64, hashlib, json, sys

sha256 = lambda *parts: hashlib.sha256(b"".join(parts)).digest()
canonical = lambda value: json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()

def push(tree, leaf):  # tree: [level, hash] of complete subtrees, left to right
    tree.append((0, leaf))
    while len(tree) > 1 and tree[-1][0] == tree[-2][0]:
        (level, left), (_, right) = tree[-2:]
        tree[-2:] = [(level + 1, sha256(b"\1", left, right))]

def root(tree):
    node = tree[-1][1]
    for _, left in tree[-2::-1]:
        node = sha256(b"\1", left, node)
    return base64.b64encode(node).decode()

lines = [json.loads(line) for line in open(sys.argv[1], "rb")]
entries = [line for line in lines if "seq" in line]
notes = [line["checkpoint"] for line in lines if "checkpoint" in line] + [open(file).read() for file in sys.argv[2:]]
prunes = {entry["first_seq"]: entry for entry in entries if entry["type"] == "prune"}
first, tree, roots, previous = entries[0]["seq"], None, {}, entries[0]["prev"]
for seq, (entry, line) in enumerate(zip(entries, open(sys.argv[1], "rb")), first):
    if seq == 0: tree = []
    elif tree is None and seq in prunes:
        levels = [level for level in range(52, -1, -1) if seq >> level & 1]
        tree = list(zip(levels, map(base64.b64decode, prunes[seq]["frontier"])))
        assert prunes[seq]["head"] == previous, f"{seq}: not what the prune entry speaks of"
    digest = entry.pop("hash")
    hashed = canonical(entry)
    assert line == hashed[:-1] + b',"hash":"' + digest.encode() + b'"}\n', f"{seq}: not in canonical form"
    assert digest == "sha256:" + sha256(b"sidegate-audit/v1/entry\n", hashed).hex(), f"{seq}: the hash does not fit"
    assert (entry["seq"], entry["prev"], entry["log"]) == (seq, previous, entries[0]["log"]), f"{seq}: not the next one"
    previous = digest
    if tree is not None:
        push(tree, sha256(b"\0", bytes.fromhex(digest[7:])))
        roots[seq + 1] = root(tree)
for note in notes:
    origin, size, signed_root = note.split("\n")[:3]
    assert origin == "sidegate/" + entries[0]["log"], f"a checkpoint of {origin}"
    assert int(size) <= seq + 1, f"the log had {size} entries"
    assert roots.get(int(size), signed_root) == signed_root, f"the first {size} entries are not those that were signed"
print(f"{len(entries)} entries from {first} on, {len(notes)} checkpoints, root {roots.get(seq + 1)}")
