import { type HostedImapInput, hostedImapInput } from '@waxwing/contract/accounts/connect-sessions.ts'
import type { z } from 'zod'
import type { FoundServers } from '../../../providers/discovery.ts'

/** The fields of the form, as they are filled in. */
export interface ImapFields {
  email: string
  password: string
  imapHost: string
  imapPort: string
  imapSecurity: string
  imapUser: string
  smtpHost: string
  smtpPort: string
  smtpSecurity: string
  smtpUser: string
  smtpPassword: string
  /** Whether the mailbox has no SMTP server: `on` or empty, as a box sends it. */
  readOnly: string
  /** Whether calendars and contacts are connected as well; as `readOnly`. */
  dav: string
  calendarUrl: string
  contactsUrl: string
  davUser: string
  davPassword: string
}
type ServerKind = 'imap' | 'smtp'
export type FieldErrors = Partial<Record<keyof ImapFields, string>>

export const EMPTY_FIELDS: ImapFields = {
  email: '',
  password: '',
  imapHost: '',
  imapPort: '',
  imapSecurity: '',
  imapUser: '',
  smtpHost: '',
  smtpPort: '',
  smtpSecurity: '',
  smtpUser: '',
  smtpPassword: '',
  readOnly: '',
  dav: '',
  calendarUrl: '',
  contactsUrl: '',
  davUser: '',
  davPassword: '',
}

/** Reads the form. Passwords are taken as they are, everything else without spaces around it. */
export function readImapFields(form: URLSearchParams): ImapFields {
  const names = Object.keys(EMPTY_FIELDS) as (keyof ImapFields)[]
  return Object.fromEntries(
    names.map(name => {
      const value = form.get(name) ?? ''
      return [name, name.endsWith('assword') ? value : value.trim()]
    }),
    // Every name of the fields is there.
  ) as unknown as ImapFields
}

/** The fields of an address whose servers were found. */
export function fieldsOf(
  email: string,
  found: Pick<FoundServers, 'imap' | 'smtp' | 'dav'> | null,
): ImapFields {
  const fields = { ...EMPTY_FIELDS, email }
  if (!found) return fields
  const { imap, smtp, dav } = found
  return {
    ...fields,
    imapHost: imap.host,
    imapPort: String(imap.port),
    imapSecurity: imap.security,
    imapUser: imap.user,
    smtpHost: smtp?.host ?? '',
    smtpPort: smtp ? String(smtp.port) : '',
    smtpSecurity: smtp?.security ?? '',
    smtpUser: smtp?.user ?? '',
    readOnly: smtp ? '' : 'on',
    dav: dav ? 'on' : '',
    calendarUrl: dav?.calendarUrl ?? '',
    contactsUrl: dav?.contactsUrl ?? '',
  }
}

export type CheckedFields =
  | { outcome: 'valid'; input: HostedImapInput }
  | { outcome: 'invalid'; errors: FieldErrors }

/**
 * Makes the input of the operation. An IMAP server without a host is left out: it is found by the address. An SMTP server
 * without one is the IMAP server, with its login name. Calendars and contacts without any URL are looked for.
 */
export function checkImapFields(fields: ImapFields): CheckedFields {
  const server = (kind: ServerKind) => {
    const host = fields[`${kind}Host`] || fields.imapHost
    if (host === '') return undefined
    const security = fields[`${kind}Security`]
    const user = fields[`${kind}User`] || fields.imapUser
    return {
      host,
      port: Number(fields[`${kind}Port`] || usualPort(kind, security)),
      ...(security !== '' && { security }),
      ...(user !== '' && { user }),
    }
  }
  const [imap, smtp] = [server('imap'), fields.readOnly === '' ? server('smtp') : null]
  const parsed = hostedImapInput.safeParse({
    email: fields.email,
    password: fields.password,
    ...(fields.smtpPassword !== '' && { smtpPassword: fields.smtpPassword }),
    ...(imap && { imap }),
    ...(smtp !== undefined && { smtp }),
    ...(fields.dav !== '' && { dav: davOf(fields) }),
  })
  if (parsed.success) return { outcome: 'valid', input: parsed.data }
  return { outcome: 'invalid', errors: errorsOf(parsed.error, fields) }
}

function davOf({ calendarUrl, contactsUrl, davUser, davPassword }: ImapFields) {
  const isNamed = calendarUrl !== '' || contactsUrl !== ''
  return {
    ...(isNamed && { calendarUrl: calendarUrl || null, contactsUrl: contactsUrl || null }),
    ...(davUser !== '' && { user: davUser }),
    ...(davPassword !== '' && { password: davPassword }),
  }
}

/** The port of a server that is named without one. */
export function usualPort(kind: ServerKind, security: string): number {
  const [tls, starttls] = kind === 'imap' ? [993, 143] : [465, 587]
  return security === 'starttls' ? starttls : tls
}

/** The field, and advice on what to enter there, by the path of a wrong input. */
const WRONG: Readonly<Record<string, readonly [field: keyof ImapFields, text: string]>> = {
  email: ['email', 'Enter a full email address, such as ada@example.com.'],
  password: ['password', 'Enter your password.'],
  smtpPassword: ['smtpPassword', 'Enter a password of at most 1,024 characters.'],
  ...ofServer('imap', 'imap.example.com'),
  ...ofServer('smtp', 'smtp.example.com'),
  'dav.calendarUrl': ['calendarUrl', 'Enter an address of at most 2,000 characters.'],
  'dav.contactsUrl': ['contactsUrl', 'Enter an address of at most 2,000 characters.'],
  'dav.user': ['davUser', 'Enter a login name of at most 320 characters.'],
  'dav.password': ['davPassword', 'Enter a password of at most 1,024 characters.'],
}

function ofServer(kind: ServerKind, example: string): typeof WRONG {
  const name = kind.toUpperCase()
  return {
    [`${kind}.host`]: [`${kind}Host`, `Enter only the name of the ${name} server, such as ${example}.`],
    [`${kind}.port`]: [`${kind}Port`, `Enter the port of the ${name} server, a number from 1 to 65535.`],
    [`${kind}.security`]: [`${kind}Security`, `Choose the encryption of the ${name} server.`],
    [`${kind}.user`]: [`${kind}User`, `Enter a login name for the ${name} server of at most 320 characters.`],
  }
}

function errorsOf({ issues }: z.ZodError, fields: ImapFields): FieldErrors {
  const isTaken = (field: keyof ImapFields) =>
    (field === 'smtpHost' || field === 'smtpUser') && fields[field] === ''
  const wrong = issues.flatMap(({ path }) => {
    const found = WRONG[path.join('.')]
    // An error in a value that was copied from the IMAP server is reported at its field.
    return found && !isTaken(found[0]) ? [found] : []
  })
  return Object.fromEntries(wrong)
}
