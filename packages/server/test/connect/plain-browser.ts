import type { OAuthProvider } from '../../src/providers/sign-in.ts'

/** A browser in which Continue was pressed. */
export interface AtProvider {
  authorizeUrl: string
  /** As a request sends it. */
  cookie: string
}

/** The answer to the last request of a flow. */
export type Ended =
  /** The URL to which the browser goes. */
  | { outcome: 'returned'; url: string }
  /** A page of ours. `links` are the targets of its links, in order. */
  | { outcome: 'shown'; status: number; heading: string; links: string[] }

/** A browser without a screen, which asks for the pages of flows by HTTP, sends their forms and goes where they lead. */
export interface PlainBrowser {
  /** Opens a link, and presses Continue. The flow may end at once. */
  press(token: string, button: 'continue' | 'cancel'): Promise<AtProvider | Ended>
  /** Opens a link, presses Continue, and is at the provider. */
  begin(token: string): Promise<AtProvider>
  /** Comes back from the provider. */
  comeBack(from: Pick<AtProvider, 'cookie'> | null, redirectUrl: string): Promise<Ended>
}

let browsers = 0

/** Opens a browser with an address of its own, since pages are counted by it. The service must trust 127.0.0.1 as a proxy. */
export function plainBrowser(address: string, provider: OAuthProvider): PlainBrowser {
  browsers += 1
  const client = `198.18.${browsers >> 8}.${browsers & 255}`
  const headers = { 'x-forwarded-for': client, origin: address }
  const go = (url: string, init: RequestInit = {}) =>
    fetch(url, { ...init, headers: { ...headers, ...init.headers }, redirect: 'manual' })

  const self: PlainBrowser = {
    async press(token, button) {
      const url = `${address}/connect/${token}`
      const page = await (await go(url)).text()
      const nonce = /name="nonce" value="([^"]+)"/.exec(page)?.[1] ?? ''
      const form = new URLSearchParams({ do: button, provider, nonce })
      const answer = await go(url, { method: 'POST', body: form })
      const cookie = answer.headers.get('set-cookie')
      if (cookie === null) return endOf(answer)
      await answer.body?.cancel()
      return {
        authorizeUrl: answer.headers.get('location') ?? '',
        cookie: cookie.slice(0, cookie.indexOf(';')),
      }
    },
    async begin(token) {
      const pressed = await self.press(token, 'continue')
      if ('outcome' in pressed) throw new Error(JSON.stringify(pressed))
      return pressed
    },
    comeBack: async (from, redirectUrl) =>
      endOf(await go(redirectUrl, from === null ? {} : { headers: { cookie: from.cookie } })),
  }
  return self
}

async function endOf(answer: Response): Promise<Ended> {
  const text = await answer.text()
  const url = answer.headers.get('location')
  if (url !== null) return { outcome: 'returned', url }
  return {
    outcome: 'shown',
    status: answer.status,
    heading: /<h1>([^<]*)<\/h1>/.exec(text)?.[1] ?? text,
    links: [...text.matchAll(/ href="(https?:[^"]+)"/g)].map(([, href = '']) =>
      href.replaceAll('&amp;', '&'),
    ),
  }
}
