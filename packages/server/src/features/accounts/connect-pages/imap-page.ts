import type { ShownFlow } from '../connect-sessions/flows.ts'
import { type Html, html } from '../../../kit/html.ts'
import { findPasswordHint } from './app-passwords.ts'
import { selectField, textField } from './fields.ts'
import { actionField, renderFlowPage, tenantOf } from './flow-view.ts'
import type { FieldErrors, ImapFields } from './imap-form.ts'
import { waitingText } from './send-once.ts'

export interface ImapPage {
  /** Passwords are not shown again. */
  fields: ImapFields
  errors: FieldErrors
  /** What went wrong, or must be known, besides what stands beside the fields; null if there is nothing. */
  message: { text: string; isError: boolean } | null
  /** Whether the fields of the servers are shown at once. */
  isOpen: boolean
}

/** Asks for the password of a mailbox, and lets the person change the servers that were found. */
export function imapPage(flow: ShownFlow, page: ImapPage): string {
  const { fields, errors } = page
  const isReconnect = flow.reauthEmail !== null
  const heading = isReconnect ? 'Enter your password again' : 'Connect your mailbox'
  const hasErrors = Object.keys(errors).length > 0 || page.message?.isError === true
  return renderFlowPage({
    heading,
    title: hasErrors ? `Error: ${heading}` : heading,
    content: html`${message(page)}
      <p>
        ${tenantOf(flow)} will be able to read, change and send your email. The password is kept encrypted,
        and is used only to log in to your mail server.
      </p>
      <form method="post" novalidate>
        ${actionField('connect')}
        ${textField({
          name: 'email',
          label: 'Email address',
          value: fields.email,
          error: errors.email,
          type: 'email',
          autocomplete: 'username',
          isReadOnly: true,
        })}
        ${textField({
          name: 'password',
          label: 'Password',
          value: '',
          error: errors.password,
          hint: passwordHint(fields.imapHost),
          type: 'password',
          autocomplete: 'current-password',
          isFocused: !hasErrors,
        })}
        ${!isReconnect && servers(page)}
        <button class="first">Connect</button>
        ${waitingText('Checking the password with your mail server. This can take half a minute.')}
      </form>
      ${!isReconnect && html`<p><a class="button plain" href="?">Use another address</a></p>`}`,
  })
}

function message({ message: told, errors }: ImapPage): Html | null {
  const wrong = Object.entries(errors)
  if (!told && wrong.length === 0) return null
  if (told && !told.isError) return html`<p class="note">${told.text}</p>`
  return html`<div class="note bad" role="alert" tabindex="-1" autofocus>
    ${told && html`<p>${told.text}</p>`}
    ${
      wrong.length > 0 &&
      html`<ul>
        ${wrong.map(([name, text]) => html`<li><a href="#${name}">${text}</a></li>`)}
      </ul>`
    }
  </div>`
}

function passwordHint(imapHost: string): Html | null {
  const hint = findPasswordHint(imapHost)
  if (!hint) return null
  const link =
    hint.url !== null &&
    html` <a href="${hint.url}" target="_blank" rel="noopener noreferrer">Create one (opens a new window)</a>`
  return html`${hint.text}${link}`
}

function servers(page: ImapPage): Html {
  const { fields, errors, isOpen } = page
  return html`<details${isOpen && html` open`}>
<summary>Server settings</summary>
<fieldset>
<legend>Incoming mail (IMAP)</legend>
${serverFields('imap', page)}
</fieldset>
<fieldset>
<legend>Outgoing mail (SMTP)</legend>
<label class="choice"><input type="checkbox" name="readOnly"${fields.readOnly !== '' && html` checked`}> Do not send mail
from this mailbox</label>
${serverFields('smtp', page)}
${textField({
  name: 'smtpPassword',
  label: 'Password for sending',
  value: '',
  hint: 'Leave empty if it is the same.',
  error: errors.smtpPassword,
  type: 'password',
})}
</fieldset>
</details>`
}

const SECURITY = [
  ['', 'Automatic'],
  ['tls', 'TLS'],
  ['starttls', 'STARTTLS'],
] as const

function serverFields(kind: 'imap' | 'smtp', { fields, errors }: ImapPage): Html {
  const [host, port, security, user] = [
    `${kind}Host`,
    `${kind}Port`,
    `${kind}Security`,
    `${kind}User`,
  ] as const satisfies readonly (keyof ImapFields)[]
  return html`${textField({
      name: host,
      label: 'Server',
      value: fields[host],
      error: errors[host],
      inputmode: 'url',
    })}
    <div class="pair">
      ${textField({
        name: port,
        label: 'Port',
        value: fields[port],
        error: errors[port],
        inputmode: 'numeric',
      })}
      ${selectField({ name: security, label: 'Encryption', value: fields[security], options: SECURITY, error: errors[security] })}
    </div>
    ${textField({
      name: user,
      label: 'Login name',
      value: fields[user],
      error: errors[user],
      hint: 'Leave empty to use your email address.',
    })}`
}
