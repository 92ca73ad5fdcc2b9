import type { Caller } from '../../google/caller.ts'
import type { Shape } from '../../google/api/shape.ts'
import type { Book } from '../book.ts'
import type { Metric } from '../quota.ts'
import type { PeopleSettings } from '../settings.ts'

/** One method of the People API, as the discovery document describes it. */
export interface PeopleMethod {
  /** Without `people.people.`, such as `connections.list`. */
  id: string
  http: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  /** Below /v1/. `{+resourceName}` is the name of a person. */
  path: string
  /** Any one of them is enough. */
  scopes: readonly string[]
  metric: Metric
  /** Parameters of the query. */
  query: readonly string[]
  /** Fields of the body; without it the body is ignored. */
  body?: Shape
  answer: Shape
  run(call: MethodCall): object
}

/** Parameters of a call that was let in. */
export interface MethodCall {
  settings: PeopleSettings
  book: Book
  caller: Caller
  /** Empty for a method without one in its path. */
  resourceName: string
  query: URLSearchParams
  /** The JSON body, with no field but those of the method. */
  body: Record<string, unknown>
  /** Counts the call against another quota as well. */
  charge(metric: Metric): void
}

const scope = (name: string): string => `https://www.googleapis.com/auth/${name}`

export const CONTACTS = scope('contacts')
export const READONLY = scope('contacts.readonly')

/** Scopes that open persons who may be no contacts. */
export const PROFILE_READERS = [
  CONTACTS,
  READONLY,
  scope('contacts.other.readonly'),
  scope('directory.readonly'),
  ...['addresses', 'birthday', 'emails', 'gender', 'organization', 'phonenumbers'].map(name =>
    scope(`user.${name}.read`),
  ),
  scope('userinfo.email'),
  scope('userinfo.profile'),
]
