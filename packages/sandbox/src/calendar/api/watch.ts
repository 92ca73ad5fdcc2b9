import { hash } from 'node:crypto'
import type { Channel } from '../channels.ts'
import { LIST_QUERY as LIST_OF_CALENDARS_QUERY, LIST_READERS } from './calendar-list.ts'
import { EVENT_READERS, LIST_QUERY } from './events.ts'
import { type CalendarMethod, type MethodCall, requireCalendar, scopes } from './method.ts'
import { badRequest, notFound, required } from './refusals.ts'
import { SHAPES } from './shapes.ts'

const LIFETIME_SECONDS = 7 * 24 * 3_600
const LIFETIME_SECONDS_MAX = 30 * 24 * 3_600

export const watchMethods: readonly CalendarMethod[] = [
  {
    id: 'events.watch',
    http: 'POST',
    path: 'calendars/{calendarId}/events/watch',
    scopes: EVENT_READERS,
    query: LIST_QUERY,
    body: SHAPES.channel,
    answer: SHAPES.channel,
    run: call => open(call, `events ${requireCalendar(call, 'freeBusyReader').calendar.id}`),
  },
  {
    id: 'calendarList.watch',
    http: 'POST',
    path: 'users/me/calendarList/watch',
    scopes: LIST_READERS,
    query: LIST_OF_CALENDARS_QUERY,
    body: SHAPES.channel,
    answer: SHAPES.channel,
    run: call => open(call, `list ${call.list.email}`),
  },
  {
    id: 'channels.stop',
    http: 'POST',
    path: 'channels/stop',
    scopes: scopes(
      '* acls acls.readonly app.created calendarlist calendarlist.readonly events events.freebusy events.owned events.owned.readonly events.public.readonly events.readonly readonly settings.readonly',
    ),
    body: SHAPES.channel,
    run({ parts, body, list: { email }, caller }): undefined {
      const { id, resourceId } = body
      const clientId = caller.client?.clientId ?? ''
      const isGiven = typeof id === 'string' && typeof resourceId === 'string'
      if (!isGiven || !parts.channels.stop({ id, resourceId, email, clientId })) throw notFound()
    },
  },
]

function open(call: MethodCall, watches: string): object {
  const { parts, body, list, caller } = call
  const { id, type, address, token } = body
  if (typeof id !== 'string' || !/^[A-Za-z0-9\-_+/=]{1,64}$/.test(id))
    throw required('Missing or invalid channel id.')
  if (type !== 'web_hook' && type !== 'webhook')
    throw badRequest('channelUnknownDeliveryMethod', 'Unknown channel type.')
  if (typeof address !== 'string' || !isWatchable(address))
    throw badRequest('push.webhookUrlNotHttps', `WebHook callback must be HTTPS: ${String(address)}`)
  if (parts.channels.find(id)) throw badRequest('channelIdNotUnique', `Channel id ${id} not unique`)
  const channel: Channel = {
    id,
    resourceId: hash('sha1', watches, 'base64url').slice(0, 27),
    resourceUri: `https://www.googleapis.com${call.url.pathname.replace(/\/watch$/, '')}?alt=json`,
    token: typeof token === 'string' ? token : null,
    address,
    expiresAt: expiryOf(call),
    email: list.email,
    clientId: caller.client?.clientId ?? '',
    watches,
  }
  parts.channels.open(channel)
  return {
    kind: 'api#channel',
    id,
    resourceId: channel.resourceId,
    resourceUri: channel.resourceUri,
    ...(channel.token !== null && { token: channel.token }),
    expiration: String(channel.expiresAt),
  }
}

/** Whether notices may go to an address: by HTTPS, or by HTTP to this machine. */
function isWatchable(address: string): boolean {
  if (!URL.canParse(address)) return false
  const { protocol, hostname } = new URL(address)
  return (
    protocol === 'https:' || (protocol === 'http:' && /^(?:127\.0\.0\.1|localhost|\[::1\])$/.test(hostname))
  )
}

/** When a channel ends: as asked for by `expiration` (milliseconds since 1970) or `params.ttl` (seconds), with a limit. */
function expiryOf({ parts: { store }, body }: MethodCall): number {
  const now = store.now()
  const { ttl } = (body['params'] ?? {}) as { ttl?: unknown }
  const asked = Number(body['expiration'] ?? NaN)
  const seconds = Number.isNaN(asked) ? Number(ttl ?? LIFETIME_SECONDS) : (asked - now) / 1_000
  const isGood = Number.isFinite(seconds) && seconds > 0
  return Math.floor(now + (isGood ? Math.min(seconds, LIFETIME_SECONDS_MAX) : LIFETIME_SECONDS) * 1_000)
}
