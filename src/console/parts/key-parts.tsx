// Pieces that the list of keys and the page of one share.

import { visible } from '../../core/hidden-characters.ts'
import type { ApiKey } from '../api-key.ts'
import { BASE } from '../place.ts'
import { Inert, Time } from './text.tsx'

export const keyHref = (id: string): string => `${BASE}keys/${encodeURIComponent(id)}`

/** Where a key is from, by its source, unless it was made here. */
const ORIGINS: Readonly<Record<string, string>> = { file: 'declared in a file', hub: 'of the hub' }

export const KeyOrigin = ({ apiKey: { prefix, source, owner } }: { readonly apiKey: ApiKey }) => (
  <>
    <code>{prefix}</code> {ORIGINS[source] ?? ''}
    {owner === null ? null : (
      <>
        {' '}
        owner <Inert text={owner} />
      </>
    )}
  </>
)

export const KeyLabels = ({ labels }: Pick<ApiKey, 'labels'>) => (
  <>
    {Object.entries(labels).map(([label, value]) => (
      <span key={label} class="tag">
        <Inert text={`${label}: ${value}`} />
      </span>
    ))}
  </>
)

/** The keys before and after a rotation; nothing for a key without one. */
export const KeyRotation = ({ apiKey }: { readonly apiKey: ApiKey }) => {
  const { replaces, replaced_by: successor, state, expires_at } = apiKey
  return (
    <>
      {successor === undefined ? null : (
        <span>
          replaced by <a href={keyHref(successor)}>a newer key</a>
          {state !== 'active' || expires_at === null ? null : (
            <>
              , valid until <Time at={expires_at} />
            </>
          )}{' '}
        </span>
      )}
      {replaces === null ? null : (
        <span>
          replaces <a href={keyHref(replaces)}>an older key</a>
        </span>
      )}
    </>
  )
}

export type KeyAction = 'edit' | 'rotate' | 'revoke'
const ACTIONS: readonly { readonly kind: KeyAction; readonly text: string }[] = [
  { kind: 'edit', text: 'Edit' },
  { kind: 'rotate', text: 'Rotate' },
  { kind: 'revoke', text: 'Revoke' },
]

interface KeyButtonsProps {
  readonly apiKey: ApiKey
  readonly onAct: (kind: KeyAction) => void
}

/** Nothing for a key that cannot be changed here. */
export function KeyButtons({ apiKey: { name, state, source }, onAct }: KeyButtonsProps) {
  if (state !== 'active' || source !== 'api') return null
  const buttons = ACTIONS.map(({ kind, text }) => (
    <button
      key={kind}
      type="button"
      class={kind === 'revoke' ? 'danger' : undefined}
      aria-label={`${text} ${visible(name)}`}
      onClick={() => onAct(kind)}
    >
      {text}
    </button>
  ))
  return <div class="buttons">{buttons}</div>
}
