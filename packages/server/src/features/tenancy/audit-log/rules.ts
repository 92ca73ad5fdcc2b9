import type { OperationMeta } from '@waxwing/contract/operation.ts'
import { isUuid } from '../../../kit/ids.ts'
import type { Credential } from '../../../calls/credential.ts'
import type { AuditRow } from './entry.ts'

/** An id that is no UUID: that of an event is a decimal number, that of a suppression list a word. */
const WORD_ID = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/
const USER_AGENT_CHARACTERS_MAX = 512
/** Such a request did nothing: its credential, a limit or the state of the service refused it. */
const UNRECORDED_STATUSES = new Set([401, 429, 503])

/** Whether a request that was answered with this status has a row. */
export function isRecorded(status: number): boolean {
  return !UNRECORDED_STATUSES.has(status)
}

/** The ids in a path. What does not have the form of one is left out, so that nothing else gets into the log. */
export function targetsOf(
  { targets }: Pick<OperationMeta, 'targets'>,
  params: Readonly<Record<string, string>>,
): Record<string, string> {
  const given = Object.entries(targets).flatMap(([name, form]) => {
    const id = (params[name] ?? '').toLowerCase()
    return (form === 'uuid' ? isUuid(id) : WORD_ID.test(id)) ? [[name, id]] : []
  })
  return Object.fromEntries(given)
}

const ACTOR_TYPES = {
  api_key: 'apiKey',
  account_token: 'accountToken',
  connect_session: 'connectSession',
} as const satisfies Record<Credential['kind'], AuditRow['actor']['type']>

export function actorOf({ kind, id, label }: Credential): AuditRow['actor'] {
  return { type: ACTOR_TYPES[kind], id, label }
}

export function cutUserAgent(header: string | null): string | null {
  return header === null ? null : header.slice(0, USER_AGENT_CHARACTERS_MAX)
}
