import { shareEvent } from './invitations.ts'
import type { CalendarParts } from './parts.ts'
import { type Calendar, recordEvent } from './store/calendars.ts'

type Json = Record<string, unknown>

/** Conference data with a request for a new conference as it is first answered; null if none is asked for. */
export function pendingConference(data: unknown): Json | null {
  const request = (data as { createRequest?: Json } | undefined)?.createRequest
  if (typeof request?.['requestId'] !== 'string' || 'status' in request) return null
  const key = (request['conferenceSolutionKey'] ?? { type: 'hangoutsMeet' }) as Json
  const statusCode = key['type'] === 'hangoutsMeet' ? 'pending' : 'failure'
  return { createRequest: { ...request, conferenceSolutionKey: key, status: { statusCode } } }
}

/** Makes the conferences of a calendar that are due by now. */
export function settleConferences(parts: CalendarParts, calendar: Calendar): void {
  const { store } = parts
  for (const event of calendar.events.values()) {
    if (event.conferenceAt === null || event.conferenceAt > store.now()) continue
    const { createRequest = {} } = event.contents['conferenceData'] as { createRequest?: Json }
    const name = () =>
      store.random
        .letters(12)
        .toLowerCase()
        .replaceAll(/[^a-z]/g, 'x')
    const code = name().replace(/^(...)(....)(...).*$/, '$1-$2-$3')
    const uri = `https://meet.google.com/${code}`
    const made = {
      ...event,
      conferenceAt: null,
      contents: {
        ...event.contents,
        hangoutLink: uri,
        conferenceData: {
          createRequest: { ...createRequest, status: { statusCode: 'success' } },
          entryPoints: [{ entryPointType: 'video', uri, label: uri.slice('https://'.length) }],
          conferenceSolution: {
            key: { type: 'hangoutsMeet' },
            name: 'Google Meet',
            iconUri:
              'https://fonts.gstatic.com/s/i/productlogos/meet_2020q4/v6/web-512dp/logo_meet_2020q4_color_2x_web_512dp.png',
          },
          conferenceId: code,
        },
      },
    }
    const recorded = recordEvent(store, calendar, made)
    if (event.organizer.email === calendar.id) shareEvent(parts, calendar, recorded, event)
  }
}
