// The operations that verify, export and erase the usage log.

import { type DescribedOperation, operation } from './operation-builders.ts'
import { bounded, text, time, whole } from './schema-builders.ts'

export const AUDIT_OPERATIONS: readonly DescribedOperation[] = [
  operation(
    'POST /api/v1/audit/erase',
    'Erases captured exchanges. Their entries stay, and the erasure is sealed.',
    { answer: 'Erasure', body: 'EraseSelection', errors: [404, 503] },
  ),
  operation('GET /api/v1/audit/checkpoint', 'Returns the newest signed checkpoint of the usage log.', {
    answer: 'Checkpoint',
    errors: [503],
  }),
  operation(
    'GET /api/v1/audit/proof',
    'Proves that an entry is in the log (`seq`), or that the log extends an older one (`from`), by RFC 6962.',
    {
      answer: 'Proof',
      query: {
        seq: bounded(0),
        from: bounded(1),
        size: whole("Number of entries in the log; the newest checkpoint's when left out.", 1),
      },
      errors: [400, 404, 503],
    },
  ),
  operation(
    'GET /api/v1/audit/receipts/{id}',
    'Proves that a call is in the usage log. Answers 503 when no checkpoint covers its entry yet.',
    { answer: 'SignedReceipt', errors: [404, 503] },
  ),
  operation(
    'GET /api/v1/audit/export',
    'Exports the usage log as JSON Lines: entries, then checkpoints, as `sidegate audit export` does. An answer that breaks off is not complete.',
    {
      textType: 'application/x-ndjson',
      query: {
        since: time('Begins with the first entry sealed at this time or later.'),
        until: time('Ends before the first entry sealed later. A date includes its whole day, in UTC.'),
      },
      errors: [400, 503],
    },
  ),
  operation(
    'GET /api/v1/audit/changes',
    'Lists the sealed entries that are not calls, newest first, with the actor of each.',
    {
      answer: 'Changes',
      query: {
        limit: bounded(1, 1000, 50),
        before: whole('`next_before` of an answer: lists entries with a lower sequence number.'),
        actor: text('Entries of one actor.'),
        type: text('Entries of one type.'),
      },
      errors: [400],
    },
  ),
  operation(
    'GET /api/v1/audit/verify',
    'Reports the running full check of the log, or the result of the last one.',
    { answer: 'LogCheck' },
  ),
  operation(
    'POST /api/v1/audit/verify',
    'Checks the whole log, or joins the running check. Answers 202 when that takes longer than five seconds.',
    { answer: 'LogCheck', statuses: [200, 202] },
  ),
  operation(
    'DELETE /api/v1/audit/verify',
    'Cancels the running full check, which then has no verdict. Without one it changes nothing.',
    { answer: 'LogCheck' },
  ),
]
