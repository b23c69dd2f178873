// Checks a receipt that the reader pastes: the header of an answer, or a receipt document.

import { useState } from 'preact/hooks'
import { callApi } from '../gateway-api.ts'
import { ActionForm } from '../parts/dialog.tsx'
import { ProofView } from '../parts/proof-view.tsx'
import type { CheckpointAnswer, ReceiptDocument } from '../proof-check.ts'

/** The value of `x-sidegate-audit`: log, sequence number and hash. */
const HEADER = /([0-9a-f-]{36});\s*seq=(\d+);\s*hash=(sha256:[0-9a-f]{64})/

interface Found {
  readonly receipt: ReceiptDocument
  readonly trustedKey: string
}

export function ReceiptCheck() {
  const [text, setText] = useState('')
  const [found, setFound] = useState<Found | null>(null)
  const send = async () => {
    setFound(null)
    setFound(await findReceipt(text))
  }
  return (
    <section aria-labelledby="receipt-title">
      <h2 id="receipt-title">Verify a receipt</h2>
      <ActionForm action="Verify" fields={[]} send={send}>
        {() => (
          <label>
            The header x-sidegate-audit of an answer, or a receipt document
            <textarea
              required
              rows={3}
              value={text}
              onInput={(event) => setText(event.currentTarget.value)}
            />
          </label>
        )}
      </ActionForm>
      {found === null ? null : <ProofView {...found} />}
    </section>
  )
}

/**
 * Reads a pasted receipt, and gets the proof of one that holds only a hash.
 * @throws Error (rejects) that says what is wrong with the text
 */
async function findReceipt(text: string): Promise<Found> {
  let checkpoint = await callApi<CheckpointAnswer>('/audit/checkpoint')
  const trustedKey = checkpoint.public_key
  const [, log, seq, hash] = HEADER.exec(text) ?? []
  if (hash === undefined) return { receipt: readDocument(text), trustedKey }
  if (log !== checkpoint.log)
    throw new Error(`The receipt is of the log ${log}; this gateway writes ${checkpoint.log}.`)
  // A fresh receipt: the gateway signs a checkpoint that covers it.
  if (Number(seq) >= checkpoint.size)
    checkpoint = await callApi<CheckpointAnswer>(`/audit/checkpoint?seq=${seq}`)
  const path = `/audit/proof?seq=${seq}&size=${checkpoint.size}`
  const proof = await callApi<ReceiptDocument['proof']>(path)
  return { receipt: { entry: null, hash, proof, checkpoint }, trustedKey }
}

function readDocument(text: string): ReceiptDocument {
  let value: Partial<ReceiptDocument> | null
  try {
    value = JSON.parse(text)
  } catch {
    value = null
  }
  const hasParts =
    typeof value?.entry === 'string' &&
    typeof value.hash === 'string' &&
    typeof value.proof?.leaf_hash === 'string' &&
    Array.isArray(value.proof.proof) &&
    typeof value.checkpoint?.checkpoint === 'string'
  if (!hasParts)
    throw new Error(
      'This is neither a receipt document nor the value of x-sidegate-audit; paste the whole of it.',
    )
  return value as ReceiptDocument
}
