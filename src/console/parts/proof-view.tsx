// Shows the check of a receipt step by step.

import { useEffect, useState } from 'preact/hooks'
import { checkReceipt, type ProofStep, type ReceiptDocument } from '../proof-check.ts'

/** @param trustedKey the verifier key to check against */
export function ProofView({
  receipt,
  trustedKey,
}: {
  readonly receipt: ReceiptDocument
  readonly trustedKey: string
}) {
  const [steps, setSteps] = useState<readonly ProofStep[] | null>(null)
  useEffect(() => {
    let isCurrent = true
    void checkReceipt(receipt, trustedKey).then((done) => {
      if (isCurrent) setSteps(done)
    })
    return () => {
      isCurrent = false
    }
  }, [receipt, trustedKey])
  if (steps === null) return <p class="muted">Checking…</p>
  const isProved = steps.every(({ ok }) => ok)
  return (
    <div class="proof">
      <p role="status" class={isProved ? 'good' : 'failure'}>
        {isProved ? 'Proved: the entry is in the signed log.' : 'Not proved: a step failed.'}
      </p>
      <ol>
        {steps.map(({ title, ok, detail }) => (
          <li key={title} class={ok ? 'good' : 'failure'}>
            <strong>
              {ok ? '✓' : '✗'} {title}
            </strong>
            <code>{detail}</code>
          </li>
        ))}
      </ol>
      <p class="muted">
        Your browser computed every step. To trust the key, compare it with one that you keep elsewhere:{' '}
        <code>{trustedKey}</code>
      </p>
    </div>
  )
}
