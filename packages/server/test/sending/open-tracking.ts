import { Agent, request as requestHttp } from 'node:http'
import type { OutboxEntry } from '@waxwing/contract/sending/outbox.ts'
import type { SendTracking } from '@waxwing/contract/sending/tracking.ts'
import { afterAll, beforeAll } from 'vitest'
import { parse } from '../bodies/facts.ts'
import type { TestApp } from '../open-app.ts'
import { type World, openWorld } from '../servers/world.ts'
import { waitUntil } from '../wait-until.ts'
import { hurryTasks } from './killable-sending.ts'
import { connectSender, openSendingApp, send, type SendingApp, waitForStatus } from './open-sending.ts'

export const LINKS = 'https://links.example.com'
export const HTML =
  '<html>\n<body>\n<p class=x>Hello <a href="https://example.org/one?a=1&amp;b=2">one</a>,\n' +
  "<A HREF='http://example.org/two'>two</A> <a href=https://example.org/three>3</a>\n</body></html>\n"
export const BROWSER = 'Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0'
export const CHROMIUM = 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 Chrome/143.0.0.0 Safari/537.36'

interface Asking {
  userAgent?: string
  method?: string
  host?: string
  from?: string
}

interface Answer {
  status: number
  headers: Record<string, unknown>
  body: string
}

/** A send that arrived, with the paths of its links. */
export interface Arrived {
  entry: OutboxEntry
  html: string
  pixel: string
  links: string[]
  trap: string
}

interface Tracked {
  type: string
  data: Record<string, unknown>
}

/** A service for the tests of a file, with an account that tracks everything. */
export class TrackingApp {
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 50 })
  #opened: SendingApp | null = null
  #world: World | null = null
  accountId = ''

  get app(): TestApp {
    return this.#opened!.app
  }

  async open(): Promise<void> {
    const opened = await openSendingApp({
      app: { config: { linksUrl: LINKS, trustProxy: ['127.0.0.1'] } },
    })
    this.#opened = opened
    const user = await opened.imap.addUser()
    this.accountId = await connectSender(opened.app, opened, {
      user,
      appendSent: true,
      settings: { trackOpens: true, trackClicks: true, trackingHoneypot: true },
    })
    this.#world = await openWorld(opened.imap, user)
  }

  async close(): Promise<void> {
    this.#agent.destroy()
    await this.#world?.[Symbol.asyncDispose]()
    await this.#opened?.[Symbol.asyncDispose]()
  }

  /** Requests a link as a mail program does, over the proxy of the links. */
  ask(
    path: string,
    { userAgent = BROWSER, method = 'GET', host = 'links.example.com', from = '198.51.100.7' }: Asking = {},
  ) {
    return new Promise<Answer>((resolve, reject) => {
      const headers = {
        host,
        'x-forwarded-for': from,
        ...(userAgent === '' ? {} : { 'user-agent': userAgent }),
      }
      const sent = requestHttp(this.app.address + path, { method, headers, agent: this.#agent }, answer => {
        let body = ''
        answer.setEncoding('latin1').on('data', text => (body += text))
        answer.on('end', () => resolve({ status: answer.statusCode ?? 0, headers: answer.headers, body }))
      })
      sent.on('error', reject)
      sent.end()
    })
  }

  async sendTracked(change: Record<string, unknown> = {}): Promise<Arrived> {
    const entry = await send(this.app, this.accountId, { html: HTML, text: null, ...change })
    await waitForStatus(this.app, entry, 'sent')
    return { entry, ...(await this.readArrived(entry)) }
  }

  async readArrived(entry: OutboxEntry): Promise<Omit<Arrived, 'entry'>> {
    const accepted = await this.#opened!.sink.accepted()
    const found = accepted.find(({ messageId }) => messageId === entry.internetMessageId)
    const html = parse(Buffer.from(found?.content ?? '', 'latin1')).html ?? ''
    const paths = [...html.matchAll(/https:\/\/links\.example\.com(\/t\/[^"'\s>]+)/g)].map(
      ([, path]) => path ?? '',
    )
    const trap = /\/t\/c\/[^"]+(?=" rel="nofollow")/.exec(html)?.[0] ?? ''
    return {
      html,
      pixel: paths.find(path => path.endsWith('.gif')) ?? '',
      links: paths.filter(path => path.startsWith('/t/c/') && path !== trap),
      trap,
    }
  }

  /** Lets time pass for what came of a send, and has it judged. */
  async judge({ id }: OutboxEntry, seconds = 11): Promise<void> {
    const { database, db } = this.app
    await database.pool.query(
      'update tracking_item set occurred_at = occurred_at - make_interval(secs => $2) where outbox_id = $1',
      [id, seconds],
    )
    await database.pool.query(`select pg_notify('waxwing_tracking', '')`)
    await waitUntil('everything to be judged', async () => {
      const open = await db
        .selectFrom('tracking_item')
        .select('id')
        .where('outbox_id', '=', id)
        .where('is_machine', 'is', null)
        .execute()
      return open.length === 0
    })
  }

  async trackingOf({ id }: OutboxEntry): Promise<SendTracking> {
    return (await this.app.get<SendTracking>(`/v1/accounts/${this.accountId}/outbox/${id}/tracking`)).body
  }

  async eventsOf({ id }: OutboxEntry): Promise<Tracked[]> {
    const { rows } = await this.app.database.pool.query<Tracked>(
      `select type, data from event where type in ('message.opened', 'message.clicked') and data ->> 'outboxId' = $1
       order by id`,
      [id],
    )
    return rows
  }

  /** The HTML of the message as it was filed. */
  async filedHtml(entry: OutboxEntry): Promise<string | null> {
    const raw = await waitUntil('the filed copy', async () => {
      await hurryTasks(this.app.db)
      await this.#world!.witness.command('SELECT Sent')
      const found = await this.#world!.witness.command(
        `UID SEARCH HEADER Message-ID "${entry.internetMessageId}"`,
      )
      const uid = found.untagged.flat().at(-1)
      if (typeof uid !== 'string' || !/^\d+$/.test(uid)) return null
      const { untagged } = await this.#world!.witness.command(`UID FETCH ${uid} (BODY.PEEK[])`)
      const values = untagged.flat(4) as unknown[]
      return values.find((value): value is Buffer => Buffer.isBuffer(value) && value.includes('MIME-Version'))
    })
    return parse(raw).html
  }
}

/** Opens the service before the tests of a file and closes it after them. */
export function useTracking(): TrackingApp {
  const tracking = new TrackingApp()
  beforeAll(() => tracking.open())
  afterAll(() => tracking.close())
  return tracking
}
