// Small pieces of text: foreign text shown inert, times with UTC on hover, states of a load.

import type { ComponentChildren } from 'preact'
import { visible } from '../../core/hidden-characters.ts'
import { showTime } from '../display.ts'
import type { Resource } from '../resource.ts'

/** Text from outside: isolated from the direction of its neighbours, hidden characters visible. */
export const Inert = ({ text }: { readonly text: string }) => <bdi title={visible(text)}>{visible(text)}</bdi>

/** A time in the reader's zone; UTC on hover. */
export const Time = ({ at }: { readonly at: string | null }) =>
  at === null ? (
    <span>–</span>
  ) : (
    <time dateTime={at} title={`${at.replace('T', ' ').replace('Z', '')} UTC`}>
      {showTime(at)}
    </time>
  )

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
