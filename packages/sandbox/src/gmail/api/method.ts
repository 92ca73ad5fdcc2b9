import type { Caller } from '../../google/caller.ts'
import type { Mailbox } from '../mailbox/mailbox.ts'
import type { GmailParts } from '../parts.ts'
import type { Shape } from '../../google/api/shape.ts'

/** One method of the Gmail API, as the discovery document describes it. */
export interface GmailMethod {
  /** Without `gmail.users.`, such as `messages.get`. */
  id: string
  http: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Below /gmail/v1/users/{userId}/. */
  path: string
  /** Any one of them is enough. */
  scopes: readonly string[]
  /** Parameters of the query. */
  query?: readonly string[]
  /** Fields of the body; without it the body is ignored. */
  body?: Shape
  /** Fields of the answer; a method without them answers 204. */
  answer?: Shape
  /** Whether a message can be uploaded to it. */
  uploads?: boolean
  run(call: MethodCall): unknown
}

/** Parameters of a call that was let in. */
export interface MethodCall {
  gmail: GmailParts
  mailbox: Mailbox
  caller: Caller
  /** Parts of the path, such as `id`. */
  params: Record<string, string>
  query: URLSearchParams
  /** The JSON body, with no field but those of the method. */
  body: Record<string, unknown>
  /** The message that was uploaded. */
  media: Buffer | null
}

const scope = (name: string): string => `https://www.googleapis.com/auth/gmail.${name}`

export const MAIL = 'https://mail.google.com/'
export const MODIFY = scope('modify')
export const READONLY = scope('readonly')
export const METADATA = scope('metadata')
export const COMPOSE = scope('compose')
export const SEND = scope('send')
export const INSERT = scope('insert')
export const LABELS = scope('labels')
export const SETTINGS = scope('settings.basic')
export const SHARING = scope('settings.sharing')

export const READERS = [MAIL, MODIFY, READONLY] as const
export const METADATA_READERS = [...READERS, METADATA] as const

/** Whether the caller may see no more of messages than labels and headers. */
export const seesOnlyMetadata = (caller: Caller): boolean =>
  !READERS.some(reader => caller.scopes.includes(reader))
