// Signs in with an admin token, or through the identity provider of the company.

import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { callApi } from './gateway-api.ts'
import { API, BASE } from './place.ts'
import type { ConsoleSession, SignInMethods } from './signed-in.ts'

interface SignInProps {
  readonly methods: SignInMethods
  readonly onSignedIn: (session: ConsoleSession) => void
  /** Page to open afterwards. */
  readonly returnTo: string
}

export const SignInPage = (props: SignInProps) => (
  <main class="centered">
    <SignInForm {...props} title={<h1>Sidegate</h1>} />
  </main>
)

/**
 * Over the page, which keeps what was typed. It cannot be closed, and single sign-on takes place in
 * a tab of its own.
 */
export function SignInDialog(props: Omit<SignInProps, 'returnTo'>) {
  const element = useRef<HTMLDialogElement>(null)
  useEffect(() => element.current?.showModal(), [])
  return (
    <dialog ref={element} aria-labelledby="sign-in-title" onCancel={(event) => event.preventDefault()}>
      <SignInForm
        {...props}
        returnTo={BASE}
        isBesidePage
        title={
          <>
            <h2 id="sign-in-title">Your session has ended</h2>
            <p>Sign in to go on where you were. What you typed is still there.</p>
          </>
        }
      />
    </dialog>
  )
}

interface SignInFormProps extends SignInProps {
  readonly title: ComponentChildren
  readonly isBesidePage?: true
}

function SignInForm({ methods, onSignedIn, returnTo, title, isBesidePage }: SignInFormProps) {
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
    <form class="card sign-in" onSubmit={submit}>
      {title}
      {methods.oidc ? (
        <a
          class="button primary"
          href={`${API}/session/oidc?return=${encodeURIComponent(returnTo)}`}
          target={isBesidePage && '_blank'}
        >
          Sign in with single sign-on{isBesidePage && ' in a new tab'}
        </a>
      ) : null}
      {methods.token ? (
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
      ) : null}
    </form>
  )
}
