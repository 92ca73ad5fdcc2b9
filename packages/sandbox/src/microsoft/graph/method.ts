import type { User } from '../../world/users.ts'
import type { Mailbox } from '../mailbox/mailbox.ts'
import type { Option, Query } from './odata/query.ts'
import type { GraphParts } from './parts.ts'
import type { Preferences } from './prefer.ts'

/** A feature that some clouds lack. */
export type Ability =
  | 'uploadSessions'
  | 'permanentDelete'
  | 'messageDelta'
  | 'folderDelta'
  | 'contactDelta'
  | 'masterCategories'
  | 'exceptionLists'

/** One method of Graph, below a mailbox. */
export interface GraphMethod {
  http: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Below /v1.0/me/ or /v1.0/users/{id}/. */
  path: string
  /** Scopes, any one of which is enough. The mailbox of another user needs its `.Shared` form. */
  scopes: readonly string[]
  /** A cloud without the ability does not have the method. */
  needs?: Ability
  /** Options of OData that it takes. */
  options?: readonly Option[]
  run(call: MethodCall): GraphAnswer | Promise<GraphAnswer>
}

/** User and scopes of the access token of a call. */
export interface MailCaller {
  readonly user: User
  readonly scopes: readonly string[]
  readonly clientId: string
}

/** Parameters of a call that was let in. */
export interface MethodCall {
  graph: GraphParts
  mailbox: Mailbox
  caller: MailCaller
  /** Owner of the mailbox. */
  owner: User
  /** Features of the cloud. */
  abilities: Readonly<Record<Ability, boolean>>
  /** Parts of the path, such as `folder`. */
  params: Record<string, string>
  /** The URL at the real host, from which links are made. */
  url: URL
  query: Query
  prefer: Preferences
  headers: Headers
  bytes: Buffer
  /** Reads the body as a JSON object. Refuses any other body. */
  json(): Record<string, unknown>
}

export interface GraphAnswer {
  status: number
  json?: object
  /** A body other than JSON. */
  bytes?: Buffer
  contentType?: string
  headers?: Record<string, string>
}

export const READ = ['Mail.Read', 'Mail.ReadWrite'] as const
export const WRITE = ['Mail.ReadWrite'] as const
export const READ_CONTACTS = ['Contacts.Read', 'Contacts.ReadWrite'] as const
export const READ_CALENDARS = ['Calendars.Read', 'Calendars.ReadWrite'] as const
export const WRITE_CALENDARS = ['Calendars.ReadWrite'] as const
export const WRITE_CONTACTS = ['Contacts.ReadWrite'] as const

/** Makes methods that change something, all by the same scopes. */
export const changingBy =
  (scopes: readonly string[]) =>
  (
    http: GraphMethod['http'],
    path: string,
    run: GraphMethod['run'],
    needs?: GraphMethod['needs'],
  ): GraphMethod => ({ http, path, scopes, run, ...(needs && { needs }) })

export const ok = (json: object): GraphAnswer => ({ status: 200, json })
export const created = (json: object): GraphAnswer => ({ status: 201, json })
export const noContent: GraphAnswer = { status: 204 }
