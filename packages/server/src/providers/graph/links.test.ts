import { expect, test } from 'vitest'
import { CLOUDS } from '../microsoft/clouds.ts'
import { pathOfLink, targetOfUpload } from './links.ts'

const ID = '6f0e-A'
const PATH = `/v1.0/users/${ID}/mailFolders/x/messages/delta?$skiptoken=a%2Bb`

test.each([
  [`https://graph.microsoft.com${PATH}`, PATH],
  [
    `https://graph.microsoft.com/v1.0/users('${ID.toLowerCase()}')/messages?$skip=10`,
    `/v1.0/users('${ID.toLowerCase()}')/messages?$skip=10`,
  ],
])('follows a link below the mailbox: %s', (link, path) => {
  expect(pathOfLink(link, CLOUDS.global, ID)).toBe(path)
})

test.each([
  ['another host', `https://graph.evil.test${PATH}`],
  ['a host that begins alike', `https://graph.microsoft.com.evil.test${PATH}`],
  ['the host of another cloud', `https://graph.microsoft.us${PATH}`],
  ['no TLS', `http://graph.microsoft.com${PATH}`],
  ['another port', `https://graph.microsoft.com:8443${PATH}`],
  ['a user and a password', `https://a:b@graph.microsoft.com${PATH}`],
  ['another mailbox', 'https://graph.microsoft.com/v1.0/users/other/messages'],
  ['a path out of the mailbox', `https://graph.microsoft.com/v1.0/users/${ID}/../other/messages`],
  ['another version', `https://graph.microsoft.com/beta/users/${ID}/messages`],
  ['no address at all', PATH],
  ['an endless address', `https://graph.microsoft.com${PATH}${'a'.repeat(20_000)}`],
])('refuses a link with %s', (_, link) => {
  expect(() => pathOfLink(link, CLOUDS.global, ID)).toThrow(expect.objectContaining({ kind: 'rejected' }))
})

test('sends ranges to the hosts of upload sessions of the cloud, and nowhere else', () => {
  const path = '/api/v2.0/sessions?token=x'
  expect(targetOfUpload(`https://outlook.office.com${path}`, CLOUDS.global)).toEqual({
    host: 'outlook.office.com',
    path,
  })
  for (const url of [
    `https://outlook.office.com${path}`.replace('.com', '.evil'),
    `http://outlook.office.com${path}`,
  ])
    expect(() => targetOfUpload(url, CLOUDS.global)).toThrow(expect.objectContaining({ kind: 'rejected' }))
  expect(() => targetOfUpload(`https://outlook.office.com${path}`, CLOUDS.dod)).toThrow()
})
