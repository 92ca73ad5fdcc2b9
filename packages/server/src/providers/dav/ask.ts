import type { DavClient, DavRequest } from './client.ts'
import { StatusFailure } from './failure.ts'
import { pathOf } from './hrefs.ts'
import { type DavResponse, readMultistatus } from './multistatus.ts'
import { readRefusal } from '../http/answers.ts'
import { XmlRefused } from './xml-stream.ts'

/** A response about resources of the server that was asked. */
export interface Told extends DavResponse {
  /** Canonical paths; none if the hrefs lead elsewhere. */
  paths: readonly string[]
}

/** A multistatus whose responses are still to come. */
export interface Asked extends AsyncIterable<readonly Told[]> {
  /** The URL that answered, after redirects. Known with the first response. */
  url: URL
  /** The new token of a sync-collection; known at the end. */
  syncToken: string | null
}

export type Question = Omit<DavRequest, 'method'> & {
  method: 'PROPFIND' | 'REPORT' | 'PROPPATCH'
  depth: '0' | '1'
  /** The most responses that are read; 1,000 by default. */
  responsesMax?: number
}

const RESPONSES_MAX = 1_000
const MULTISTATUS = 207

/**
 * Asks a server for a multistatus, which is read as it arrives. Iterating it throws `StatusFailure` for any other
 * answer, also a successful one, and `XmlRefused` if it cannot be read.
 */
export function ask(client: DavClient, question: Question): Asked {
  const { depth, responsesMax = RESPONSES_MAX, ...request } = question
  const asked: Asked = { url: question.url, syncToken: null, [Symbol.asyncIterator]: () => tell() }

  async function* tell(): AsyncGenerator<readonly Told[], void, void> {
    await using answer = await client.send({ ...request, headers: { depth, ...request.headers } })
    if (answer.status !== MULTISTATUS) {
      const { status, headers } = await readRefusal(answer)
      throw new StatusFailure(status, headers)
    }
    asked.url = answer.url
    const multistatus = readMultistatus(answer.content)
    let count = 0
    for await (const responses of multistatus.responses) {
      count += responses.length
      if (count > responsesMax) throw new XmlRefused('it has too many responses')
      yield responses.map(response => ({ ...response, paths: pathsOf(response, answer.url) }))
    }
    asked.syncToken = multistatus.syncToken
  }
  return asked
}

/** The same, with all responses at once. */
export async function askAll(client: DavClient, question: Question): Promise<{ url: URL; told: Told[] }> {
  const asked = ask(client, question)
  const told: Told[] = []
  for await (const some of asked) told.push(...some)
  return { url: asked.url, told }
}

function pathsOf({ hrefs }: DavResponse, base: URL): string[] {
  return hrefs.flatMap(href => pathOf(href, base) ?? [])
}
