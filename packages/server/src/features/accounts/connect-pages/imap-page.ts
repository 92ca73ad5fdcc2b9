import type { ShownFlow } from '../connect-sessions/flows.ts'
import { type Html, html } from '../../../kit/html.ts'
import { findPasswordHint } from './app-passwords.ts'
import { selectField, textField } from './fields.ts'
import { actionField, buttonRow, renderFlowPage, tenantOf } from './flow-view.ts'
import { type FieldErrors, type ImapFields, usualPort } from './imap-form.ts'
import { waitingText } from './page-script.ts'

export interface ImapPage {
  /** Passwords are not shown again. */
  fields: ImapFields
  errors: FieldErrors
  /** An error or a note about the whole form, beside the texts of its fields; null if there is none. */
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
        ${tenantOf(flow)} will be able to read, change and send your email, and to read and change contacts
        and calendars if you connect them. The password is kept encrypted, and is used only to log in to your
        servers.
      </p>
      <form method="post" novalidate>
        ${actionField('connect')}
        ${textField({
          name: 'email',
          label: 'Email address',
          value: fields.email,
          ...wrongAt('email', page),
          type: 'email',
          autocomplete: 'username',
          isReadOnly: true,
        })}
        ${textField({
          name: 'password',
          label: 'Password',
          value: '',
          ...wrongAt('password', page),
          ...(!hasErrors && { isFocused: true }),
          hint: passwordHint(fields.imapHost),
          type: 'password',
          autocomplete: 'current-password',
        })}
        ${!isReconnect && servers(page)} ${buttonRow('Connect', !isReconnect && ANOTHER_ADDRESS)}
        ${waitingText('Checking the password with your mail server. This can take half a minute.')}
      </form>`,
  })
}

const ANOTHER_ADDRESS = html`<a class="button plain" href="?">Use another address</a>`

function message({ message: shown }: ImapPage): Html | null {
  if (!shown) return null
  if (!shown.isError) return html`<p class="note">${shown.text}</p>`
  return html`<p class="note bad" role="alert" tabindex="-1" autofocus>${shown.text}</p>`
}

/** In the order of the page. */
const SERVER_FIELDS = {
  imap: ['imapHost', 'imapPort', 'imapSecurity', 'imapUser'],
  smtp: ['smtpHost', 'smtpPort', 'smtpSecurity', 'smtpUser', 'smtpPassword'],
  dav: ['contactsUrl', 'calendarUrl', 'davUser', 'davPassword'],
} as const satisfies Record<string, readonly (keyof ImapFields)[]>
const IN_ORDER = [
  'email',
  'password',
  ...SERVER_FIELDS.imap,
  ...SERVER_FIELDS.smtp,
  ...SERVER_FIELDS.dav,
] as const

/** The error of a field. The first field of the page with an error has the focus. */
function wrongAt(name: keyof ImapFields, { errors, message: shown }: ImapPage) {
  const first = IN_ORDER.find(one => errors[one] !== undefined)
  return { error: errors[name] ?? null, isFocused: name === first && shown?.isError !== true }
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
  const isWrong = (kind: keyof typeof SERVER_FIELDS) =>
    SERVER_FIELDS[kind].some(name => errors[name] !== undefined)
  const isShown = isOpen || isWrong('imap') || isWrong('smtp') || isWrong('dav')
  return html`<details${isShown && html` open`}>
<summary>Server settings</summary>
<fieldset>
<legend>Incoming mail (IMAP)</legend>
${serverFields('imap', page)}
</fieldset>
<details class="inner"${isWrong('smtp') && html` open`}>
<summary>Outgoing mail (SMTP): ${smtpInWords(fields)}</summary>
<fieldset>
<legend class="unseen">Outgoing mail (SMTP)</legend>
<label class="choice"><input type="checkbox" name="readOnly"${fields.readOnly !== '' && html` checked`}> Do not send mail
from this mailbox</label>
${serverFields('smtp', page)}
${textField({
  name: 'smtpPassword',
  label: 'Password for sending',
  value: '',
  hint: 'Leave empty if it is the same.',
  ...wrongAt('smtpPassword', page),
  type: 'password',
})}
</fieldset>
</details>
<details class="inner"${isWrong('dav') && html` open`}>
<summary>Contacts and calendars: ${davInWords(fields)}</summary>
<fieldset>
<legend class="unseen">Contacts and calendars</legend>
<label class="choice"><input type="checkbox" name="dav"${fields.dav !== '' && html` checked`}> Connect contacts and
calendars</label>
${davFields(page)}
</fieldset>
</details>
</details>`
}

function davInWords({ dav, contactsUrl, calendarUrl }: ImapFields): string {
  if (dav === '') return 'not used'
  return URL.parse(contactsUrl || calendarUrl)?.hostname ?? 'found from your email address'
}

function davFields(page: ImapPage): Html {
  const { fields } = page
  return html`${textField({
    name: 'contactsUrl',
    label: 'Address of contacts (CardDAV)',
    value: fields.contactsUrl,
    hint: 'Leave both addresses empty to have them looked for.',
    ...wrongAt('contactsUrl', page),
    placeholder: 'https://dav.example.com/',
    inputmode: 'url',
  })}
  ${textField({
    name: 'calendarUrl',
    label: 'Address of calendars (CalDAV)',
    value: fields.calendarUrl,
    ...wrongAt('calendarUrl', page),
    placeholder: 'https://dav.example.com/',
    inputmode: 'url',
  })}
  ${textField({
    name: 'davUser',
    label: 'Login name for contacts and calendars',
    value: fields.davUser,
    hint: 'Leave empty if it is the same as for incoming mail.',
    ...wrongAt('davUser', page),
  })}
  ${textField({
    name: 'davPassword',
    label: 'Password for contacts and calendars',
    value: '',
    hint: 'Leave empty if it is the same.',
    ...wrongAt('davPassword', page),
    type: 'password',
  })}`
}

function smtpInWords({ readOnly, smtpHost }: ImapFields): string {
  if (readOnly !== '') return 'not used'
  return smtpHost === '' ? 'as incoming mail' : smtpHost
}

const SECURITY = [
  ['', 'Automatic'],
  ['tls', 'TLS'],
  ['starttls', 'STARTTLS'],
] as const

/** Placeholders and hints for fields that are left empty. */
const WHEN_EMPTY = {
  imap: { host: 'imap.example.com', hostHint: null, user: 'Leave empty to use your email address.' },
  smtp: {
    host: 'smtp.example.com',
    hostHint: 'Leave empty if it is the server of incoming mail.',
    user: 'Leave empty if it is the same as for incoming mail.',
  },
} as const

function serverFields(kind: 'imap' | 'smtp', page: ImapPage): Html {
  const { fields } = page
  const [host, port, security, user] = SERVER_FIELDS[kind]
  const whenEmpty = WHEN_EMPTY[kind]
  return html`${textField({
      name: host,
      label: 'Server',
      value: fields[host],
      ...wrongAt(host, page),
      hint: whenEmpty.hostHint,
      placeholder: whenEmpty.host,
      inputmode: 'url',
    })}
    <div class="pair">
      ${textField({
        name: port,
        label: 'Port',
        value: fields[port],
        ...wrongAt(port, page),
        placeholder: String(usualPort(kind, fields[security])),
        inputmode: 'numeric',
      })}
      ${selectField({
        name: security,
        label: 'Encryption',
        value: fields[security],
        options: SECURITY,
        placeholder: { field: port, of: option => usualPort(kind, option) },
        ...wrongAt(security, page),
      })}
    </div>
    ${textField({
      name: user,
      label: 'Login name',
      value: fields[user],
      ...wrongAt(user, page),
      hint: whenEmpty.user,
    })}`
}
