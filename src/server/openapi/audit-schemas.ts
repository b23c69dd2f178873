// Schemas of the evidence of the usage log, by their names in the description of the API.

import type { JsonObject } from '../../core/json.ts'
import { flag, list, object, orNull, ref, text, time, whole } from '../../core/schema-builders.ts'

export const AUDIT_SCHEMAS: Record<string, JsonObject> = {
  Changes: object(
    {
      changes: list({
        ...object({
          type: text('Type of the entry, such as key_created or rule_override.'),
          actor: orNull(
            text(
              'Who caused it: the name of an administrator, `cli:<user>` for a command on the machine, `gateway` for what no person does, `unknown` for a failed sign-in; null in entries of older releases.',
            ),
          ),
          created_at: time('When the entry was sealed.'),
          seq: whole('Sequence number in the chain.'),
          hash: text('`sha256:` and the hash of the sealed entry.'),
        }),
        description: 'The entry as sealed, with further members by its type.',
        additionalProperties: true,
      }),
      next_before: whole(
        '`before` of the next page; left out on the last. A page may be shorter than `limit`, because each reads a bounded number of entries.',
      ),
    },
    ['next_before'],
  ),
  Erasure: object({
    erased: whole('Number of exchanges erased.'),
    entries: whole('Number of `erase` entries sealed, one for each 1,000 exchanges.'),
  }),
  ClockTrust: object({ trusted: { const: true, description: 'That the clock of the gateway is right.' } }),
  Checkpoint: object({
    checkpoint: text(
      'Signed note (C2SP tlog-checkpoint). Keep it where the operator of the log cannot change it.',
    ),
    log: text('Id of the log.'),
    size: whole('Number of entries it covers.'),
    root: text('Root of the Merkle tree over these entries, base64.'),
    head: text('Hash of the newest of these entries.'),
    created_at: time('When the checkpoint was signed.'),
    public_key: text('Public key of the signature, as a signed-note verifier key.'),
  }),
  InclusionProof: object({
    seq: whole('Sequence number of the entry.'),
    size: whole('Number of entries in the log that contains it.'),
    leaf_hash: text("SHA-256 of a zero byte and the 32 bytes of the entry's hash, base64."),
    root: text('Root of the tree of that size, base64.'),
    proof: list(text('A node, base64, from the leaf upwards (RFC 6962 §2.1.1).')),
  }),
  Proof: {
    oneOf: [
      ref('InclusionProof'),
      object({
        from: whole('Number of entries in the older log.'),
        size: whole('Number of entries in the log that extends it.'),
        from_root: text('Root of the older tree, base64.'),
        root: text('Root of the tree of that size, base64.'),
        proof: list(text('A node, base64 (RFC 6962 §2.1.2).')),
      }),
    ],
  },
  SignedReceipt: object({
    log: text('Id of the log.'),
    seq: whole('Sequence number of the entry.'),
    hash: text('`sha256:` and the hash of the entry, as in the header `x-sidegate-audit`.'),
    entry: text('The entry as hashed: its canonical form (RFC 8785) without `hash`.'),
    proof: ref('InclusionProof'),
    checkpoint: ref('Checkpoint'),
  }),
  LogCheck: object({
    running: flag('Whether a check is running.'),
    progress: { type: 'number', minimum: 0, maximum: 1, description: 'Share of the log checked so far.' },
    ok: orNull(flag('Whether the log is intact; null while there is no verdict.')),
    started_at: orNull(time('When the check began.')),
    finished_at: orNull(time('When the check ended.')),
    result: orNull({
      type: 'object',
      description:
        'Verdict, as `sidegate audit verify` prints it; at a hub `entries` and `damaged` over all logs, and in `logs` a verdict on each. Null while the check runs.',
    }),
    error: orNull(text('Why the check gave no verdict.')),
  }),
}
