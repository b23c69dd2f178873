// Saves the calls of a filtered list as CSV, page by page, with progress and a way to stop.

import { useRef, useState } from 'preact/hooks'
import type { UsageView } from '../../audit/entry-fields.ts'
import { csvLine } from '../../core/csv.ts'
import { showCount } from '../display.ts'
import { callApi, withQuery } from '../gateway-api.ts'
import type { Filters } from '../log-address.ts'

const PAGE_CALLS = 1000
const MAXIMUM_EXPORTED_CALLS = 100_000

const COLUMNS: readonly (readonly [string, (call: UsageView) => string | number | null])[] = [
  ['id', ({ id }) => id],
  ['created_at', ({ created_at }) => created_at],
  ['key_id', ({ key_id }) => key_id],
  ['key_name', ({ key_name }) => key_name],
  [
    'labels',
    ({ labels }) =>
      Object.entries(labels ?? {})
        .map((label) => label.join('='))
        .join(' '),
  ],
  ['user', ({ user }) => user],
  ['api', ({ api }) => api],
  ['model', ({ model }) => model],
  ['upstream', ({ upstream }) => upstream ?? null],
  ['outcome', ({ outcome }) => outcome],
  ['stopped', ({ stopped }) => stopped],
  ['status', ({ status }) => status],
  ['personal_data', ({ pii_types }) => pii_types.join(' ')],
  ['rules', ({ rules }) => rules.map(({ name, action }) => `${name}: ${action}`).join('; ')],
  ['prompt_tokens', ({ prompt_tokens }) => prompt_tokens],
  ['completion_tokens', ({ completion_tokens }) => completion_tokens],
  ['cost_usd', ({ cost }) => cost],
  ['latency_ms', ({ latency_ms }) => latency_ms],
  ['overhead_ms', ({ overhead_ms }) => overhead_ms],
  ['hash', ({ hash }) => hash],
]

interface LogPage {
  readonly logs: readonly UsageView[]
  readonly next_cursor?: string
}

export function ExportButton({ filters }: { readonly filters: Filters }) {
  const [state, setState] = useState<string | null>(null)
  const running = useRef<AbortController | null>(null)
  const save = async () => {
    const aborted = new AbortController()
    running.current = aborted
    const lines = [csvLine(COLUMNS.map(([name]) => name))]
    let cursor: string | null = null
    try {
      // A list that ends at a moment has no call twice.
      const until = filters['until'] ?? new Date().toISOString()
      do {
        setState(`${showCount(lines.length - 1)} calls so far`)
        const path: string = withQuery('/usage/logs', { ...filters, until, limit: PAGE_CALLS, cursor })
        const page: LogPage = await callApi<LogPage>(path, aborted)
        for (const call of page.logs) lines.push(csvLine(COLUMNS.map(([, read]) => read(call))))
        cursor = page.next_cursor ?? null
      } while (cursor !== null && lines.length <= MAXIMUM_EXPORTED_CALLS)
      saveFile(`sidegate-log-${until.slice(0, 10)}.csv`, lines)
      setState(cursor === null ? null : `The first ${showCount(lines.length - 1)} calls were saved.`)
    } catch (error) {
      setState(aborted.signal.aborted ? null : (error as Error).message)
    } finally {
      running.current = null
    }
  }
  return (
    <>
      {running.current === null ? (
        <button type="button" onClick={save}>
          CSV of this list
        </button>
      ) : (
        <button type="button" onClick={() => running.current?.abort()}>
          Stop
        </button>
      )}{' '}
      <span role="status">{state}</span>
    </>
  )
}

function saveFile(name: string, lines: readonly string[]): void {
  const address = URL.createObjectURL(new Blob([...lines], { type: 'text/csv' }))
  const link = document.createElement('a')
  link.href = address
  link.download = name
  link.click()
  URL.revokeObjectURL(address)
}
