// How candidate rules would have decided the calls of late, next to the rules in force.

import { showCount } from '../display.ts'
import { Inert, Time } from '../parts/text.tsx'
import { BASE } from '../place.ts'
import { useResource } from '../resource.ts'

const REFRESH_MS = 15_000

/** The part of `GET /api/v1/rules/candidate` that the page shows. */
interface CandidateReport {
  readonly path: string
  readonly revision: string | null
  readonly rules: number
  readonly errors: readonly { readonly text: string }[]
  readonly since: string
  readonly calls: number
  readonly changed: number
  readonly skipped: number
  readonly samples: readonly {
    readonly log_id: string
    readonly created_at: string
    readonly rule: string
    readonly live: string
    readonly candidate: string
  }[]
}

/** Shows nothing when the gateway has no candidate rules. */
export function CandidateResults() {
  const status = useResource<{ readonly rules: { readonly candidate: boolean } }>('/status')
  const path = status.data?.rules.candidate === true ? '/rules/candidate' : null
  const { data } = useResource<CandidateReport>(path, REFRESH_MS)
  if (data === null) return null
  return (
    <section aria-labelledby="candidate-title">
      <h2 id="candidate-title">Candidate rules</h2>
      <p>
        {showCount(data.rules)} rules from <Inert text={data.path} />, revision{' '}
        <code>{data.revision ?? '–'}</code>. Since <Time at={data.since} /> they would have decided{' '}
        {showCount(data.changed)} of {showCount(data.calls)} calls differently
        {data.skipped === 0 ? '' : `; ${showCount(data.skipped)} were not compared`}.
      </p>
      {data.errors.map(({ text }) => (
        <p key={text} class="failure">
          <Inert text={text} />
        </p>
      ))}
      <ul>
        {data.samples.map(({ log_id, created_at, rule, live, candidate }) => (
          <li key={log_id + rule}>
            <a href={`${BASE}log?entry=${encodeURIComponent(log_id)}`}>
              <Time at={created_at} />
            </a>{' '}
            <Inert text={rule} />: {live} → {candidate}
          </li>
        ))}
      </ul>
    </section>
  )
}
