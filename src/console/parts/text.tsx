// Small pieces of text: foreign text shown inert, times with UTC on hover, states of a load.

import type { ComponentChildren } from 'preact'
import { visible } from '../../core/hidden-characters.ts'
import { showClock, showOffset, showTime, UTC } from '../dates.ts'
import type { Resource } from '../resource.ts'
import { useZone } from '../zone.ts'

/** Text from outside: isolated from the direction of its neighbours, hidden characters visible. */
export const Inert = ({ text }: { readonly text: string }) => <bdi title={visible(text)}>{visible(text)}</bdi>

/** A time in the zone of the page, which it names; UTC on hover. */
export function Time({ at }: { readonly at: string | null }) {
  const zone = useZone()
  if (at === null) return <span>–</span>
  const timeMs = Date.parse(at)
  return (
    <time dateTime={at} title={showTime(timeMs, UTC)}>
      {showClock(timeMs, zone)} <span class="zone">{showOffset(timeMs, zone)}</span>
    </time>
  )
}

/** Who changed something last; nothing when it is not known. */
export const ChangedBy = ({ actor }: { readonly actor: string | undefined }) =>
  actor === undefined ? null : (
    <small>
      changed by <Inert text={actor} />
    </small>
  )

interface LoadStateProps {
  readonly resource: Pick<Resource<unknown>, 'data' | 'failure' | 'reload'>
  readonly children?: ComponentChildren
}

/** The content of a loaded resource, or that it loads, or why it cannot be loaded. */
export const LoadState = ({ resource, children }: LoadStateProps) => (
  <>
    {resource.failure === null ? null : (
      <p class="failure" role="alert">
        <Inert text={resource.failure} />{' '}
        <button type="button" onClick={resource.reload}>
          Try again
        </button>
      </p>
    )}
    {resource.data === null ? resource.failure === null ? <p class="empty">Loading…</p> : null : children}
  </>
)
