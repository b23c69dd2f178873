// A dry run of a prompt: what would be found, scored and decided. Nothing is forwarded or logged.

import { useState } from 'preact/hooks'
import { visible } from '../../core/hidden-characters.ts'
import { callApi } from '../gateway-api.ts'
import { ActionForm } from '../parts/dialog.tsx'
import { Inert } from '../parts/text.tsx'

/** The part of an answer of `POST /api/v1/rules/evaluate` that the page shows. */
interface Evaluation {
  readonly decision: string
  readonly rules: readonly {
    readonly id: string
    readonly name: string
    readonly action: string
    readonly direction: string
  }[]
  readonly findings: readonly { readonly kind: string; readonly start: number; readonly end: number }[]
  readonly injection: {
    readonly score: number
    readonly threshold: number
    readonly reasons: readonly string[]
  } | null
  readonly redacted: { readonly messages: readonly { readonly content: unknown }[] } | null
}

interface Tried {
  readonly prompt: string
  readonly evaluation: Evaluation
}

export function TryPrompt() {
  const [prompt, setPrompt] = useState('')
  const [model, setModel] = useState('demo/echo')
  const [tried, setTried] = useState<Tried | null>(null)
  const send = async () => {
    const body = { model, messages: [{ role: 'user', content: prompt }] }
    setTried({ prompt, evaluation: await callApi<Evaluation>('/rules/evaluate', { method: 'POST', body }) })
  }
  return (
    <section aria-labelledby="try-title">
      <h2 id="try-title">Try a prompt</h2>
      <p class="muted">Nothing is forwarded, and nothing is logged.</p>
      <ActionForm action="Evaluate" fields={[]} send={send}>
        {() => (
          <>
            <label>
              Prompt
              <textarea
                required
                rows={4}
                value={prompt}
                onInput={(event) => setPrompt(event.currentTarget.value)}
              />
            </label>
            <label>
              Model
              <input required value={model} onInput={(event) => setModel(event.currentTarget.value)} />
            </label>
          </>
        )}
      </ActionForm>
      {tried === null ? null : <Result tried={tried} />}
    </section>
  )
}

function Result({ tried: { prompt, evaluation } }: { readonly tried: Tried }) {
  const { decision, rules, findings, injection, redacted } = evaluation
  const content = redacted?.messages[0]?.content
  return (
    <div class="card" role="status">
      <p class={decision === 'allow' ? 'good' : 'failure'}>Decision: {decision}</p>
      <ul>
        {rules.map(({ id, name, action, direction }) => (
          <li key={id + direction}>
            <Inert text={name} />: {action} ({direction})
          </li>
        ))}
      </ul>
      {injection === null ? null : (
        <p>
          Injection score {injection.score.toFixed(2)}, threshold {injection.threshold.toFixed(2)}
          {injection.reasons.length === 0 ? '' : `: ${injection.reasons.join(', ').replaceAll('_', ' ')}`}
        </p>
      )}
      <h3>Found</h3>
      <pre tabIndex={0}>{withFindings(prompt, findings)}</pre>
      {typeof content === 'string' ? (
        <>
          <h3>What would be sent</h3>
          <pre tabIndex={0}>{visible(content)}</pre>
        </>
      ) : null}
    </div>
  )
}

/** The text with its findings marked. Findings may overlap; the one that begins first wins. */
function withFindings(text: string, findings: Evaluation['findings']) {
  const parts = []
  let at = 0
  for (const { kind, start, end } of [...findings].sort((one, other) => one.start - other.start)) {
    if (start < at) continue
    parts.push(visible(text.slice(at, start)))
    parts.push(
      <mark key={start} title={kind}>
        {visible(text.slice(start, end))}
        <small>{kind}</small>
      </mark>,
    )
    at = end
  }
  return [...parts, visible(text.slice(at))]
}
