import type { Reason } from '@waxwing/contract/reasons.ts'
import type { Refusal } from '../../../calls/refuse.ts'
import type { ImapFields } from './imap-form.ts'

/** The text that a person sees for a refusal, and the field that it concerns; null if it concerns none. */
export interface RefusalText {
  text: string
  field: keyof ImapFields | null
}

const TEXTS: Partial<Readonly<Record<Reason, RefusalText>>> = {
  login_failed: {
    text: 'Logging in did not work. Check the password and the server settings.',
    field: 'password',
  },
  autodiscovery_failed: {
    text: 'The servers of this address were not found. Enter the name of the server.',
    field: 'imapHost',
  },
  plaintext_not_allowed: {
    text: 'Choose TLS or STARTTLS, and addresses that begin with https.',
    field: null,
  },
  invalid_input: {
    text: 'Addresses of contacts and calendars must begin with https:// and must not contain a login.',
    field: 'contactsUrl',
  },
  provider_unsupported: {
    text: 'The server cannot be used with these settings. Check its name, port and encryption.',
    field: null,
  },
  provider_unavailable: {
    text: 'The server did not answer as expected. Check its name, port and encryption, or try again in some minutes.',
    field: null,
  },
  account_mismatch: {
    text: 'This is another mailbox than the one to connect again.',
    field: 'email',
  },
  provider_not_allowed: {
    text: 'A mailbox with a password cannot be connected with this link.',
    field: null,
  },
}

/** The limits of an address last an hour; the limits of a link never end. */
const RATE_LIMITED = {
  ofAddress: { text: 'There were too many tries. Try again in an hour.', field: null },
  ofLink: { text: 'There were too many tries with this link. Ask for a new one.', field: null },
} as const

export function describeRefusal({ reason, retryAfterSeconds }: Refusal): RefusalText {
  if (reason === 'rate_limited') return RATE_LIMITED[retryAfterSeconds === undefined ? 'ofLink' : 'ofAddress']
  return TEXTS[reason] ?? { text: 'This did not work. Try again in some minutes.', field: null }
}

/** Whether a form was refused because its flow has ended meanwhile. */
export function isFlowOver({ reason }: Refusal): boolean {
  return reason === 'session_used' || reason === 'session_expired'
}
