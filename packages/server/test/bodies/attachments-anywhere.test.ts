import type { Message } from '@waxwing/contract/mail/messages.ts'
import { describe, expect, test } from 'vitest'
import { cut, mail, multi } from '../mail/odd/odd-message.ts'
import { SERVER_KINDS, useServer } from '../servers/shared-server.ts'
import { openWorld } from '../servers/world.ts'
import { connectMailbox, openSyncApp, readMessages, waitForFirstSync } from '../sync/followed-account.ts'
import { openBlobFolder } from './blob-folder.ts'
import { contentOf, formatAttachment, parse } from './facts.ts'
import { casesFor } from '../soak.ts'

const FILE = 'Content-Type: application/pdf\nContent-Disposition: attachment; filename=a.pdf\n\n%PDF'
const INNER = 'From: b@b.test\nSubject: within\n\nThe message within.'

/** Structures whose parts servers number in different ways. */
const ODD = {
  'an alternative that is never closed': multi('mixed', [
    'Content-Type: multipart/alternative; boundary=alt\n\n--alt\n\nOne.\n--alt\nContent-Type: text/html\n\n<p>One.',
    FILE,
  ]),
  'a digest': multi('digest', [`\n${INNER}`, `Content-Type: message/rfc822\n\n${INNER}`]),
  'a message in base64': multi('mixed', [
    '\nOne.',
    `Content-Type: message/rfc822\nContent-Transfer-Encoding: base64\n\n${Buffer.from(INNER).toString('base64')}`,
  ]),
  'a boundary without its semicolon': mail(
    'Content-Type: multipart/mixed\n boundary=cut',
    cut(['\nOne.', FILE]),
  ),
  'a file alone': mail('Content-Type: application/pdf; name=a.pdf', '%PDF'),
  'an empty file': multi('mixed', ['\nOne.', 'Content-Type: application/pdf; name=a.pdf\n\n']),
}

const SERVERS = casesFor(SERVER_KINDS, ({ name }) => name !== 'a poor Dovecot')

describe.each(SERVERS)('attachments of odd messages of $name', ({ start }) => {
  const useIt = useServer(start)

  test('are listed and served alike, stored or not', async () => {
    const server = useIt()
    const user = await server.addUser()
    await using world = await openWorld(server, user)
    await world.deliver(Object.values(ODD).map(raw => ({ raw })))
    await using blobs = await openBlobFolder()
    await using app = await openSyncApp({ config: { blobDir: blobs.folder } })
    const accountId = await connectMailbox(app, server, user, { bodyStorage: 'none', syncWindowDays: null })
    await waitForFirstSync(app, accountId)
    const download = async (resource: string) => {
      const answer = await fetch(`${app.address}/v1/accounts/${accountId}/messages/${resource}`, {
        headers: { authorization: `Bearer ${app.key}` },
      })
      return { status: answer.status, bytes: Buffer.from(await answer.arrayBuffer()) }
    }
    for (const bodyStorage of ['none', 'cache', 'full']) {
      await app.patch(`/v1/accounts/${accountId}`, { settings: { bodyStorage } })
      const listed = await readMessages(app, accountId)
      expect(listed).toHaveLength(Object.keys(ODD).length)
      for (const { id } of listed) {
        const { bytes: raw } = await download(`${id}/raw`)
        const parts = parse(raw).attachments
        expect(parts.length).toBeGreaterThan(0)
        const { body } = await app.get<Message>(`/v1/accounts/${accountId}/messages/${id}`)
        expect(body.attachments.map(formatAttachment)).toEqual(parts.map(formatAttachment))
        for (const part of parts) {
          const { status, bytes } = await download(`${id}/attachments/${part.id}`)
          const what = `${bodyStorage}: ${formatAttachment(part)}`
          expect([status, bytes.length], what).toEqual([200, part.size])
          expect(bytes.equals(contentOf(raw, part)), what).toBe(true)
        }
      }
    }
  })
})
