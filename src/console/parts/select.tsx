// Choices among a few values.

import { visible } from '../../core/hidden-characters.ts'

export interface SelectOption {
  readonly value: string
  readonly title: string
}

interface SelectProps {
  readonly options: readonly SelectOption[]
  readonly value: string
  /** Its name for people, where it has no label. */
  readonly title?: string
  /** Name of the field in a form. */
  readonly name?: string
  readonly onSelect?: (value: string) => void
}

export const Select = ({ options, value, title, name, onSelect }: SelectProps) => (
  <select
    aria-label={title}
    name={name}
    value={value}
    onChange={(event) => onSelect?.(event.currentTarget.value)}
  >
    {options.map((option) => (
      <option key={option.value} value={option.value}>
        {visible(option.title)}
      </option>
    ))}
  </select>
)

interface ChooserProps extends SelectProps {
  readonly label: string
}

/** A choice next to the heading of a page. */
export const Chooser = ({ label, ...select }: ChooserProps) => (
  <label>
    {label} <Select {...select} />
  </label>
)

/** Returns the option that an address names; the first when it names none. */
export const chosenOf = <Value extends string>(
  options: readonly { readonly value: Value }[],
  named: string | null,
): Value => options.find(({ value }) => value === named)?.value ?? options[0]!.value
