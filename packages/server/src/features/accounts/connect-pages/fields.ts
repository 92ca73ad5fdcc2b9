import { type Html, html } from '../../../kit/html.ts'

export interface Field {
  /** Also the id of the field. */
  name: string
  label: string
  value: string
  hint?: Html | string | null
  /** Text about an error; null or absent if there is none. */
  error?: string | null
  type?: 'text' | 'email' | 'password'
  autocomplete?: string
  inputmode?: 'numeric' | 'url'
  placeholder?: string
  isReadOnly?: boolean
  isFocused?: boolean
}

/** A field with its label, hint and error, which screen readers read with it. */
export function textField(field: Field): Html {
  const { name, label, value, hint = null, error = null, type = 'text', autocomplete = 'off' } = field
  const { inputmode, placeholder, isReadOnly = false, isFocused = false } = field
  const input = html`<input
    id="${name}"
    name="${name}"
    type="${type}"
    value="${value}"
    autocomplete="${autocomplete}"
    autocapitalize="none"
    spellcheck="false"
    ${inputmode !== undefined && html` inputmode="${inputmode}"`}${
      placeholder !== undefined && html` placeholder="${placeholder}"`
    }${isReadOnly && html` readonly`}${isFocused && html` autofocus`}${described(name, { hint, error })}
  />`
  return html`<div class="field">
    <label for="${name}">${label}</label>
    ${type === 'password' ? html`<div class="secret">${input} ${revealButton(name, label)}</div>` : input}
    ${notes(name, { hint, error })}
  </div>`
}

/** Shows and hides the typed text. Without scripts it stays hidden. */
function revealButton(name: string, label: string): Html {
  return html`<button type="button" hidden data-reveals="${name}">
    Show<span class="unseen"> ${label}</span>
  </button>`
}

export interface Choice {
  name: string
  label: string
  value: string
  options: readonly (readonly [value: string, label: string])[]
  /** A field whose placeholder follows the choice, and the placeholder for each option. Without scripts it stays. */
  placeholder?: { field: string; of(option: string): string | number }
  error?: string | null
  isFocused?: boolean
}

export function selectField(choice: Choice): Html {
  const { name, label, value, options, placeholder, error = null, isFocused = false } = choice
  const followed = placeholder && html` data-places="${placeholder.field}"`
  return html`<div class="field">
    <label for="${name}">${label}</label>
    <select
      id="${name}"
      name="${name}"
      ${followed ?? null}${isFocused && html` autofocus`}${described(name, { hint: null, error })}
    >
      ${options.map(([option, words]) => {
        const text = placeholder && html` data-placeholder="${placeholder.of(option)}"`
        return html`<option value="${option}" ${text ?? null}${option === value && html` selected`}>
          ${words}
        </option>`
      })}
    </select>
    ${notes(name, { hint: null, error })}
  </div>`
}

interface Notes {
  hint: Html | string | null
  error: string | null
}

function described(name: string, { hint, error }: Notes): Html | null {
  const ids = [error !== null && `${name}-error`, hint !== null && `${name}-hint`].filter(Boolean).join(' ')
  if (ids === '') return null
  return html` aria-describedby="${ids}"${error !== null && html` aria-invalid="true"`}`
}

function notes(name: string, { hint, error }: Notes): Html {
  return html`${error !== null && html`<span class="wrong" id="${name}-error">${error}</span>`}
  ${hint !== null && html`<span class="hint" id="${name}-hint">${hint}</span>`}`
}
