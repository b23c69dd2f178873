// Modal dialogs, in the middle or at the side. The browser keeps the focus inside and returns it.

import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { ApiFailure } from '../gateway-api.ts'

interface DialogProps {
  readonly title: string
  readonly isDrawer?: boolean
  readonly onClose: () => void
  readonly children: ComponentChildren
}

export function Dialog({ title, isDrawer = false, onClose, children }: DialogProps) {
  const element = useRef<HTMLDialogElement>(null)
  useEffect(() => element.current?.showModal(), [])
  const closeOutside = (event: Event) => {
    if (event.target === element.current) element.current?.close()
  }
  return (
    <dialog
      ref={element}
      class={isDrawer ? 'drawer' : undefined}
      aria-labelledby="dialog-title"
      onClose={onClose}
      onMouseDown={closeOutside}
    >
      <div class="dialog-body">
        <header>
          <h2 id="dialog-title">{title}</h2>
          <button type="button" aria-label="Close" onClick={() => element.current?.close()}>
            ×
          </button>
        </header>
        {children}
      </div>
    </dialog>
  )
}

interface FieldProps {
  readonly label: string
  /** Name of the API's field; an error that names it, or an item of it, is shown here. */
  readonly name: string
  readonly hint?: string | undefined
  readonly failure: ApiFailure | Error | null
  readonly children: ComponentChildren
}

/** Whether a failure names a field, or an item or member of it: `models[0]`, `labels.team`. */
function isAbout(failure: Error | null, name: string): boolean {
  const param = failure instanceof ApiFailure ? (failure.param ?? '') : ''
  return param === name || param.startsWith(`${name}[`) || param.startsWith(`${name}.`)
}

/** A labelled field with its hint, and the API's error about it. */
export const Field = ({ label, name, hint, failure, children }: FieldProps) => (
  <div class="field">
    <label>
      <span>{label}</span>
      {children}
    </label>
    {hint === undefined ? null : <small>{hint}</small>}
    <FieldError name={name} failure={failure} />
  </div>
)

/** The API's error about a field, if there is one. */
export const FieldError = ({ name, failure }: Pick<FieldProps, 'name' | 'failure'>) =>
  isAbout(failure, name) ? (
    <span class="failure" role="alert">
      {failure?.message}
    </span>
  ) : null

interface ActionFormProps {
  /** Text of the button. */
  readonly action: string
  readonly isDangerous?: boolean
  readonly isDisabled?: boolean
  /** Fields of the form; an error that names none of them is shown below. */
  readonly fields: readonly string[]
  /** Sends the change; a failure is shown, a success is the caller's. */
  readonly send: () => Promise<void>
  readonly children: (failure: Error | null) => ComponentChildren
}

/** A form that sends one change to the API. */
export function ActionForm(props: ActionFormProps) {
  const { action, isDangerous = false, isDisabled = false, fields, send, children } = props
  const [failure, setFailure] = useState<Error | null>(null)
  const [isBusy, setBusy] = useState(false)
  const submit = async (event: Event) => {
    event.preventDefault()
    setBusy(true)
    setFailure(null)
    try {
      await send()
    } catch (error) {
      setFailure(error as Error)
    } finally {
      setBusy(false)
    }
  }
  const isAtField = fields.some((name) => isAbout(failure, name))
  return (
    <form onSubmit={submit}>
      {children(failure)}
      {failure === null || isAtField ? null : (
        <p class="failure" role="alert">
          {failure.message}
        </p>
      )}
      <button type="submit" class={isDangerous ? 'danger' : 'primary'} disabled={isBusy || isDisabled}>
        {action}
      </button>
    </form>
  )
}
