import { postUntilTaken } from '../pushing/post-until-taken.ts'
import type { Random } from '../world/random.ts'
import type { CalendarSettings } from './settings.ts'

/** A notification channel, which tells an address that something was changed. */
export interface Channel {
  readonly id: string
  readonly resourceId: string
  readonly resourceUri: string
  readonly token: string | null
  readonly address: string
  /** Milliseconds since 1970, by the sandbox's clock. */
  readonly expiresAt: number
  /** The user who opened it. */
  readonly email: string
  readonly clientId: string
  /** What it watches, as `Store.changed` names it. */
  readonly watches: string
}

/** The channels of all users. They cannot be renewed, only replaced. */
export interface Channels {
  find(id: string): Channel | null
  /** Opens a channel, whose first notice says `sync`. */
  open(channel: Channel): void
  /** Returns whether there was one that this client opened for this user. */
  stop(channel: Pick<Channel, 'id' | 'resourceId' | 'email' | 'clientId'>): boolean
  /** Sends a notice to the channels that watch something that was changed. Changes of one moment share a notice. */
  changed(what: string): void
  list(): readonly Channel[]
  close(): void
}

interface Opened {
  channel: Channel
  messages: number
  isWaiting: boolean
}

export function openChannels(
  settings: Readonly<CalendarSettings>,
  now: () => number,
  random: Random,
): Channels {
  const opened = new Map<string, Opened>()
  const closing = new AbortController()
  const send = (one: Opened, state: 'sync' | 'exists'): void => {
    one.messages += 1
    if (random.float() < settings.drop) return
    const headers = headersOf(one, state)
    const { address } = one.channel
    for (let copy = 0; copy < settings.copies; copy += 1)
      void postUntilTaken(
        () => new Request(address, { method: 'POST', headers, redirect: 'manual' }),
        settings.delayMilliseconds,
        closing.signal,
      )
  }
  const live = (id: string): Opened | null => {
    const found = opened.get(id)
    if (found && found.channel.expiresAt > now()) return found
    opened.delete(id)
    return null
  }
  return {
    find: id => live(id)?.channel ?? null,
    open(channel) {
      const one = { channel, messages: 0, isWaiting: false }
      opened.set(channel.id, one)
      send(one, 'sync')
    },
    stop({ id, resourceId, email, clientId }) {
      const channel = live(id)?.channel
      if (channel?.resourceId !== resourceId || channel.email !== email || channel.clientId !== clientId)
        return false
      return opened.delete(id)
    },
    changed(what) {
      for (const one of opened.values()) {
        if (one.channel.watches !== what || one.isWaiting || !live(one.channel.id)) continue
        one.isWaiting = true
        setImmediate(() => {
          one.isWaiting = false
          if (live(one.channel.id) === one) send(one, 'exists')
        })
      }
    },
    list: () => [...opened.keys()].flatMap(id => live(id)?.channel ?? []),
    close: () => closing.abort(),
  }
}

/** The headers of a notice, which has no body (developers.google.com/workspace/calendar/api/guides/push). */
function headersOf({ channel, messages }: Opened, state: string): Record<string, string> {
  return {
    'x-goog-channel-id': channel.id,
    ...(channel.token !== null && { 'x-goog-channel-token': channel.token }),
    'x-goog-channel-expiration': new Date(channel.expiresAt).toUTCString(),
    'x-goog-resource-id': channel.resourceId,
    'x-goog-resource-uri': channel.resourceUri,
    'x-goog-resource-state': state,
    'x-goog-message-number': String(messages),
  }
}
