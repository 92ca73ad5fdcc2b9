import type { RemoteEvent } from './calendars.ts'

export type OnlineMeeting = Pick<RemoteEvent, 'onlineMeetingUrl' | 'onlineMeetingProvider'>
type Provider = NonNullable<RemoteEvent['onlineMeetingProvider']>

export const NO_MEETING: OnlineMeeting = { onlineMeetingUrl: null, onlineMeetingProvider: null }

/** As long as the interface takes them. */
const URL_LENGTH_MAX = 2_048
/** Links of one text that are looked at, and the characters in which they are looked for. */
const LINKS_MAX = 100
const TEXT_MAX = 100_000

const HOSTS: ReadonlyArray<{ provider: Provider; host: RegExp; path: RegExp }> = [
  { provider: 'google_meet', host: /^meet\.google\.com$/, path: /^\/(?:lookup\/)?\w[\w-]{5,}/ },
  {
    provider: 'teams',
    host: /^teams\.(?:microsoft|live)\.com$|^(?:gov|dod)\.teams\.microsoft\.us$/,
    path: /^\/(?:l\/meetup-join|meet)\//,
  },
  { provider: 'skype', host: /^(?:join\.skype\.com|meet\.lync\.com)$/, path: /^\/./ },
  { provider: 'zoom', host: /(?:^|\.)(?:zoom\.us|zoomgov\.com)$/, path: /^\/(?:j|my|w|s)\// },
  {
    provider: 'webex',
    host: /(?:^|\.)webex\.com$/,
    path: /^\/(?:meet|join|[\w-]+\/j\.php|[\w-]+\/onstage|wbxmjs)/,
  },
]

/** The meeting at the first of these addresses that is one of the web; null if none is. */
export function meetingAt(addresses: Iterable<string>): OnlineMeeting | null {
  for (const address of addresses) {
    const url = webUrl(address.trim())
    if (url) return { onlineMeetingUrl: url.href, onlineMeetingProvider: providerOf(url) ?? 'other' }
  }
  return null
}

/** The meeting at the first link in these texts that leads to a known service. */
export function findMeeting(texts: ReadonlyArray<string | null>): OnlineMeeting {
  for (const text of texts) {
    const links = (text ?? '').slice(0, TEXT_MAX).match(/https:\/\/[^\s<>"'()\\]{1,2000}/gi) ?? []
    for (const link of links.slice(0, LINKS_MAX)) {
      const url = webUrl(link.replaceAll('&amp;', '&').replace(/[.,;:!?]+$/, ''))
      const provider = url && providerOf(url)
      if (provider) return { onlineMeetingUrl: url.href, onlineMeetingProvider: provider }
    }
  }
  return NO_MEETING
}

/** An address of the web; null for any other. */
export function webUrl(text: string): URL | null {
  if (text.length > URL_LENGTH_MAX) return null
  const url = URL.parse(text)
  return url && /^https?:$/.test(url.protocol) ? url : null
}

function providerOf({ hostname, pathname }: URL): Provider | null {
  return HOSTS.find(({ host, path }) => host.test(hostname) && path.test(pathname))?.provider ?? null
}
