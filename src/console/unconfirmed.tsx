// Reports after a change of a key or a rule which sidecars still decide without it.

import { useEffect, useState } from 'preact/hooks'
import { CHANGED, type ChangeConfirmation, changes } from './gateway-api.ts'
import { Inert, Time } from './parts/text.tsx'
import { BASE } from './place.ts'

/** Shows nothing once a newer change is everywhere, because that includes the older ones. */
export function Unconfirmed() {
  const [confirmation, setConfirmation] = useState<ChangeConfirmation | null>(null)
  useEffect(() => {
    const take = (event: Event) => setConfirmation((event as CustomEvent<ChangeConfirmation>).detail)
    changes.addEventListener(CHANGED, take)
    return () => changes.removeEventListener(CHANGED, take)
  }, [])
  if (confirmation === null || confirmation.unconfirmed === 0) return null
  const { registered, unconfirmed, unconfirmed_names: names, in_force_everywhere_by: by } = confirmation
  const others = unconfirmed - names.length
  return (
    <div class="banner" role="status">
      <p>
        {unconfirmed} of {registered} sidecars did not confirm the last change, and may decide without it
        until <Time at={by} />:{' '}
        {names.map((name, index) => (
          <span key={name}>
            {index === 0 ? '' : ', '}
            <Inert text={name} />
          </span>
        ))}
        {others > 0 ? ` and ${others} more` : ''}. <a href={`${BASE}fleet`}>Show the fleet</a>{' '}
        <button type="button" onClick={() => setConfirmation(null)}>
          Close
        </button>
      </p>
    </div>
  )
}
