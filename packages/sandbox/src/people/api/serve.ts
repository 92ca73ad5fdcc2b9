import { selectFields } from '../../google/api/fields.ts'
import { answered, json, jsonIn, requireKnownFields, requireKnownQuery } from '../../google/api/json-calls.ts'
import { disabledApi, failedPrecondition, notFound } from '../../google/api/refusal.ts'
import type { Accounts } from '../../google/accounts.ts'
import { authenticate, refuseScopes } from '../../google/authenticate.ts'
import type { Call } from '../../world/calls.ts'
import type { Book } from '../book.ts'
import type { Quota } from '../quota.ts'
import type { PeopleSettings } from '../settings.ts'
import { findMethod } from './methods.ts'

/** Parts of the People API that its calls share. */
export interface PeopleParts {
  readonly accounts: Accounts
  readonly settings: PeopleSettings
  readonly quota: Quota
  /** By address. */
  readonly books: ReadonlyMap<string, Book>
}

/** Answers a call of a method. */
export async function serveMethod(
  { accounts, settings, quota, books }: PeopleParts,
  request: Request,
  call: Call,
): Promise<Response> {
  return answered(async () => {
    const caller = authenticate(accounts, request, call)
    if (caller instanceof Response) return caller
    if (!settings.enabled) throw disabledApi('People', 'people.googleapis.com')
    const url = new URL(request.url)
    const match = findMethod(request.method, decodeURIComponent(url.pathname.slice('/v1/'.length)))
    if (!match) throw notFound('Method not found.')
    const { method, resourceName } = match
    const refused = refuseScopes(caller, call.host, method.scopes)
    if (refused) return refused
    const query = url.searchParams
    requireKnownQuery(method, query)
    const book = books.get(caller.user.email)
    if (!book) throw failedPrecondition('The user has no contacts.')
    const project = caller.client?.clientId ?? 'service-account'
    quota.charge(caller.user.email, project, method.metric)
    call.units = 1
    const body = method.body ? await jsonIn(request) : {}
    if (method.body) requireKnownFields(body, method.body, '')
    const charge = (metric: typeof method.metric) => quota.charge(caller.user.email, project, metric)
    const answer = method.run({ settings, book, caller, resourceName, query, body, charge })
    const fields = query.get('fields')
    return json(fields ? selectFields(answer, fields, method.answer) : answer)
  })
}
