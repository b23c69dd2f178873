// How much of a limit is used.

import { visible } from '../../core/hidden-characters.ts'
import type { LimitsInUse } from '../api-key.ts'
import { showCompact, showSpan, showUsd } from '../display.ts'
import { Inert } from './text.tsx'

const showAmount = (unit: string, amount: number): string =>
  unit === 'usd' ? showUsd(amount) : `${showCompact(amount)} ${unit}`

export function LimitBar({ limit }: { readonly limit: LimitsInUse['limits'][number] }) {
  const { rule_name, unit, used, allowed, window_seconds } = limit
  return (
    <div class="limit">
      <span>
        <Inert text={rule_name} />: {showAmount(unit, used)} of {showAmount(unit, allowed)} in{' '}
        {showSpan(window_seconds * 1000)}
      </span>
      <progress
        aria-label={visible(rule_name)}
        max={Math.max(allowed, 1e-9)}
        value={Math.min(used, allowed)}
      />
    </div>
  )
}
