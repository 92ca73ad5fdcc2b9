import { GraphError, ResponseType } from '@microsoft/microsoft-graph-client'
import { IMMUTABLE, openClient } from '../../../sandbox/test/microsoft/client.ts'
import type { Parsed } from '../../../sandbox/test/read-answer.ts'
import type { DrivenSandbox } from '../servers/sandbox.ts'

/** The OAuth client of the other client, by which its calls can be distinguished from those of the service. */
const OTHER_CLIENT = 'another-client'
const SCOPES = ['Mail.ReadWrite', 'Mail.Send', 'Contacts.ReadWrite', 'Calendars.ReadWrite']

/** Another client of a mailbox of the sandbox's Graph: Microsoft's own. */
export interface GraphClient {
  /** Makes a call below the mailbox. Throws `GraphError` unless it succeeds. */
  ask(method: 'GET' | 'POST' | 'PATCH' | 'DELETE', path: string, body?: unknown): Promise<Parsed>
  /** Writes the photo of a contact. */
  putPhoto(contactId: string, photo: Buffer): Promise<void>
  /** Every item of a list, over all its pages. */
  all(path: string): Promise<Parsed[]>
  /** The source of a message. */
  source(id: string): Promise<Buffer>
  createFolder(name: string): Promise<string>
  move(ids: readonly string[], folderId: string): Promise<void>
}

/** The status by which Graph refused a call; null if it did not. */
export function refusalOf(error: unknown): number | null {
  return error instanceof GraphError && error.statusCode >= 400 ? error.statusCode : null
}

const BATCH_PARTS_MAX = 20

/** Opens another client of a mailbox of the sandbox. */
export async function openGraphClient(
  sandbox: DrivenSandbox,
  email: string,
  { cloud = 'global', host = 'graph.microsoft.com' } = {},
): Promise<GraphClient> {
  const registration = { provider: 'microsoft', cloud, clientId: OTHER_CLIENT, clientSecret: OTHER_CLIENT }
  await sandbox.addClient(registration).catch(() => {})
  const scopes = SCOPES.map(scope => `https://${host}/${scope}`)
  const { accessToken } = await sandbox.grant(email, scopes, OTHER_CLIENT, { provider: 'microsoft', cloud })
  const client = openClient({ graphHost: host }, accessToken, sandbox.origin)
  const ask: GraphClient['ask'] = (method, path, body) => {
    const request = client.api(`/me/${path}`).headers(IMMUTABLE)
    if (method === 'GET') return request.get()
    if (method === 'POST') return request.post(body)
    if (method === 'PATCH') return request.patch(body)
    return request.delete()
  }
  return {
    ask,
    async all(path) {
      const found = []
      for (let page = await ask('GET', path); ;) {
        found.push(...page.value)
        const next = page['@odata.nextLink']
        if (next === undefined) return found
        page = await client.api(next).headers(IMMUTABLE).get()
      }
    },
    async putPhoto(contactId, photo) {
      const request = client.api(`/me/contacts/${contactId}/photo/$value`)
      await request.headers({ ...IMMUTABLE, 'content-type': 'image/png' }).put(photo)
    },
    async source(id) {
      const request = client.api(`/me/messages/${encodeURIComponent(id)}/$value`).headers(IMMUTABLE)
      return Buffer.from(await request.responseType(ResponseType.ARRAYBUFFER).get())
    },
    createFolder: async displayName => (await ask('POST', 'mailFolders', { displayName })).id,
    async move(ids, destinationId) {
      for (let at = 0; at < ids.length; at += BATCH_PARTS_MAX) {
        const requests = ids.slice(at, at + BATCH_PARTS_MAX).map((id, index) => ({
          id: String(index + 1),
          method: 'POST',
          url: `/me/messages/${encodeURIComponent(id)}/move`,
          headers: { 'Content-Type': 'application/json', Prefer: IMMUTABLE.prefer },
          body: { destinationId },
          ...(index > 0 && { dependsOn: [String(index)] }),
        }))
        const { responses } = await client.api('/$batch').post({ requests })
        const failed = responses.find(({ status }: Parsed) => status !== 201)
        if (failed) throw new Error(JSON.stringify(failed))
      }
    },
  }
}
