import { requireZone } from './calendars/event-times.ts'
import { badRequest } from './errors.ts'
import { text, unknownProperty } from './message-input.ts'
import { type GraphAnswer, type GraphMethod, type MethodCall, ok } from './method.ts'
import { contextOf } from './odata/paging.ts'

const PATH = 'mailboxSettings'
export const READ_SETTINGS = ['MailboxSettings.Read', 'MailboxSettings.ReadWrite'] as const
export const WRITE_SETTINGS = ['MailboxSettings.ReadWrite'] as const

/** Methods of the settings of a mailbox, of which this Graph has the time zone. */
export const settingsMethods: readonly GraphMethod[] = [
  { http: 'GET', path: PATH, scopes: READ_SETTINGS, options: ['select'], run: get },
  { http: 'PATCH', path: PATH, scopes: WRITE_SETTINGS, run: change },
  { http: 'GET', path: `${PATH}/{setting}`, scopes: READ_SETTINGS, run: getOne },
]

const contextIn = ({ mailbox, url }: MethodCall, of: string): string =>
  contextOf(url, `users('${encodeURIComponent(mailbox.email)}')/${of}`)

function get(call: MethodCall): GraphAnswer {
  return ok({ '@odata.context': contextIn(call, PATH), timeZone: call.mailbox.timeZone })
}

function getOne(call: MethodCall): GraphAnswer {
  const setting = call.params['setting'] ?? ''
  if (setting.toLowerCase() !== 'timezone')
    throw badRequest(`Resource not found for the segment '${setting}'.`)
  return ok({ '@odata.context': contextIn(call, `${PATH}/timeZone`), value: call.mailbox.timeZone })
}

function change(call: MethodCall): GraphAnswer {
  for (const [name, value] of Object.entries(call.json())) {
    if (name.includes('@')) continue
    if (name !== 'timeZone') throw unknownProperty(name, 'mailboxSettings')
    call.mailbox.timeZone = requireZone(text(value, name)).name
  }
  return get(call)
}
