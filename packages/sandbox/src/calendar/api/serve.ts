import { selectFields } from '../../google/api/fields.ts'
import { answered, json, jsonIn, requireKnownFields, requireKnownQuery } from '../../google/api/json-calls.ts'
import { disabledApi, notFound as noMethod } from '../../google/api/refusal.ts'
import type { Accounts } from '../../google/accounts.ts'
import { authenticate, refuseScopes } from '../../google/authenticate.ts'
import type { Call } from '../../world/calls.ts'
import { settleConferences } from '../conference.ts'
import type { CalendarParts } from '../parts.ts'
import { findMethod } from './methods.ts'
import { notFound } from './refusals.ts'

/** Parts of the Calendar API that decide whether a call is let in. */
export interface Admission {
  readonly accounts: Accounts
  readonly charge: (user: string, project: string) => void
}

/** Answers a call of a method. */
export async function serveMethod(
  parts: CalendarParts,
  { accounts, charge }: Admission,
  request: Request,
  call: Call,
): Promise<Response> {
  return answered(async () => {
    const caller = authenticate(accounts, request, call)
    if (caller instanceof Response) return caller
    if (!parts.settings.enabled) throw disabledApi('Google Calendar', 'calendar-json.googleapis.com')
    const url = new URL(request.url)
    const match = findMethod(request.method, url.pathname.slice('/calendar/v3/'.length))
    if (!match) throw noMethod('Method not found.')
    const { method, params } = match
    const refused = refuseScopes(caller, call.host, method.scopes)
    if (refused) return refused
    const query = url.searchParams
    requireKnownQuery(method, query)
    const list = parts.store.lists.get(caller.user.email)
    if (!list) throw notFound()
    charge(caller.user.email, caller.client?.clientId ?? 'service-account')
    call.units = 1
    const body = method.body ? await jsonIn(request) : {}
    if (method.body) requireKnownFields(body, method.body, '')
    for (const calendar of parts.store.calendars.values()) settleConferences(parts, calendar)
    const answer = method.run({ parts, caller, list, params, query, body, headers: request.headers, url })
    if (!method.answer) return new Response(null, { status: 204 })
    const fields = query.get('fields')
    return json(fields ? selectFields(answer, fields, method.answer) : answer)
  })
}
