// Signs in with an admin token, or through the identity provider of the company.

import { useState } from 'preact/hooks'
import { callApi } from './gateway-api.ts'
import { useResource } from './resource.ts'
import type { ConsoleSession } from './signed-in.ts'

interface SignInProps {
  readonly onSignedIn: (session: ConsoleSession) => void
  /** Page to open afterwards. */
  readonly returnTo: string
}

interface SignInMethods {
  readonly token: boolean
  readonly oidc: boolean
}

export function SignIn({ onSignedIn, returnTo }: SignInProps) {
  const { data: methods } = useResource<SignInMethods>('/session/methods')
  const [token, setToken] = useState('')
  const [failure, setFailure] = useState<string | null>(null)
  const [isBusy, setBusy] = useState(false)
  const submit = async (event: Event) => {
    event.preventDefault()
    setBusy(true)
    try {
      onSignedIn(await callApi<ConsoleSession>('/session', { method: 'POST', body: { token } }))
    } catch (error) {
      setFailure((error as Error).message)
      setBusy(false)
    }
  }
  return (
    <main class="centered">
      <form class="card sign-in" onSubmit={submit}>
        <h1>Sidegate</h1>
        {methods?.oidc === true ? (
          <a class="button primary" href={`/api/v1/session/oidc?return=${encodeURIComponent(returnTo)}`}>
            Sign in with single sign-on
          </a>
        ) : null}
        {methods?.token === false ? null : (
          <>
            <label>
              Admin token
              <input
                type="password"
                name="token"
                autocomplete="current-password"
                required
                value={token}
                aria-invalid={failure !== null}
                aria-describedby="sign-in-failure"
                onInput={(event) => setToken(event.currentTarget.value)}
              />
            </label>
            <p id="sign-in-failure" class="failure" role="alert">
              {failure}
            </p>
            <button type="submit" class="primary" disabled={isBusy}>
              Sign in
            </button>
          </>
        )}
      </form>
    </main>
  )
}
