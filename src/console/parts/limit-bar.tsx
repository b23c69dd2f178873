// How much of a limit is used, what is left, and until when; for a month also what it will be.

import { visible } from '../../core/hidden-characters.ts'
import type { LimitUse } from '../api-key.ts'
import { showCompact, showUsd } from '../display.ts'
import { forecast, monthOf } from '../forecast.ts'
import { Inert, Time } from './text.tsx'

const UNITS: Readonly<Record<string, string>> = { tool_calls: 'tool calls', parallel: 'calls at a time' }
const MONTH = '1mo'

const showAmount = (unit: string, amount: number): string =>
  unit === 'usd' ? showUsd(amount) : `${showCompact(amount)} ${UNITS[unit] ?? unit}`

/** The window in words. */
const describeWindow = (window: string | null): string =>
  window === null ? '' : window === MONTH ? ' this month' : window === 'run' ? ' in a run' : ` in ${window}`

export function LimitBar({ limit }: { readonly limit: LimitUse }) {
  const { rule, unit, used, left, window, subject, reset_at, only_for, action } = limit
  const expected = window === MONTH && used !== null ? forecast(used, Date.now(), monthOf(Date.now())) : null
  const isOver = used !== null && used >= limit.limit
  return (
    <div class="limit">
      <p>
        <strong>
          <Inert text={rule ?? 'Limit of the key'} />
        </strong>{' '}
        <span class="tag">
          <Inert text={subject} />
        </span>
        {action === 'monitor' ? <span class="tag">monitors only</span> : null}
        {only_for === null ? null : (
          <span class="muted">
            only <Inert text={only_for.join(', ')} />
          </span>
        )}
      </p>
      {used === null ? (
        <p>
          {showAmount(unit, limit.limit)}
          {describeWindow(window)}
        </p>
      ) : (
        <>
          <p class={isOver ? 'failure' : undefined}>
            {showAmount(unit, used)} of {showAmount(unit, limit.limit)} used{describeWindow(window)}
            {left === null ? null : `, ${showAmount(unit, left)} left`}
            {reset_at === null ? null : (
              <>
                {' '}
                · resets <Time at={reset_at} />
              </>
            )}
          </p>
          <Bar
            name={rule ?? 'Limit of the key'}
            share={used / limit.limit}
            expected={expected && expected / limit.limit}
          />
          {expected === null ? null : (
            <small class={expected > limit.limit ? 'failure' : undefined}>
              {showAmount(unit, expected)} at the end of the month if use continues as so far (linear)
            </small>
          )}
        </>
      )}
    </div>
  )
}

interface BarProps {
  readonly name: string
  /** Used, as a share of what is allowed. */
  readonly share: number
  readonly expected: number | null
}

const percent = (share: number): number => Math.round(Math.min(1, Math.max(0, share || 0)) * 1000) / 10

const Bar = ({ name, share, expected }: BarProps) => (
  <div
    class={share >= 0.8 ? 'budget high' : 'budget'}
    role="meter"
    aria-label={visible(name)}
    aria-valuemin={0}
    aria-valuemax={100}
    aria-valuenow={percent(share)}
  >
    {expected === null ? null : <span class="expected" style={{ width: `${percent(expected)}%` }} />}
    <span style={{ width: `${percent(share)}%` }} />
  </div>
)
