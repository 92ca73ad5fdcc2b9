import { describe, expect, test } from 'vitest'
import { type Failure, judge } from './rules.ts'

/** Decisions in the words of a table: the type, the status, and whether the address is suppressed. */
function judged(failure: Partial<Failure> & { diagnostic: string }): string {
  const { type, status, suppresses } = judge({
    status: null,
    addresses: ['grace@example.org'],
    senders: ['ada@example.com'],
    ...failure,
  })
  return `${type} ${status}${suppresses ? ' suppressed' : ''}`
}

describe('names of addresses and servers do not change the verdict', () => {
  test.each<[string, Partial<Failure> & { diagnostic: string }, string]>([
    [
      'a domain of the recipient',
      { diagnostic: '550 5.1.1 <info@nospam.example>: User unknown', addresses: ['info@nospam.example'] },
      'hard 5.1.1 suppressed',
    ],
    [
      'a domain of the recipient, with no code of its own',
      {
        diagnostic: '550 info@spam-blocked.example: no such user',
        addresses: ['info@spam-blocked.example'],
      },
      'hard 5.1.1 suppressed',
    ],
    [
      'a server of the domain of the recipient',
      {
        diagnostic: 'mx1.virusfree.example said: 550 5.1.1 unknown',
        addresses: ['info@virusfree.example'],
      },
      'hard 5.1.1 suppressed',
    ],
    [
      'an internationalized domain, as the server writes it',
      {
        diagnostic: '550 5.1.1 mx.xn--spam-grn-d2a.example: User unknown',
        addresses: ['info@spam-grün.example'],
        hosts: ['mx.xn--spam-grn-d2a.example'],
      },
      'hard 5.1.1 suppressed',
    ],
    [
      'a local part of the recipient',
      { diagnostic: '550 5.1.1 <spam>: User unknown', addresses: ['spam@example.org'] },
      'hard 5.1.1 suppressed',
    ],
    [
      'a local part behind the word for a user',
      {
        diagnostic: '550 User quota.full not listed in Domino Directory',
        addresses: ['quota.full@example.org'],
      },
      'hard 5.1.1 suppressed',
    ],
    [
      "a local part before wasn't found",
      { diagnostic: "nospam wasn't found at example.org.", addresses: ['nospam@example.org'] },
      'hard 5.1.1 suppressed',
    ],
    [
      'an address of the sender',
      {
        diagnostic: '550 5.1.1 no mailbox for mail from ada@blocked.example',
        senders: ['ada@blocked.example'],
      },
      'hard 5.1.1 suppressed',
    ],
    [
      'the domain of the sender',
      { diagnostic: '550 5.1.1 User unknown (mail of dkim.example)', senders: ['ada@dkim.example'] },
      'hard 5.1.1 suppressed',
    ],
    [
      'the reporting server',
      { diagnostic: '550 5.1.1 at antispam.example.net: unknown', hosts: ['antispam.example.net'] },
      'hard 5.1.1 suppressed',
    ],
    [
      'another server beside the reporting one',
      {
        diagnostic: 'd2.ess.barracudanetworks.com: 550 5.1.1 unknown',
        hosts: ['d1.ess.barracudanetworks.com'],
      },
      'hard 5.1.1 suppressed',
    ],
    [
      'a server that is named as the speaker',
      { diagnostic: 'host mx.spamfilter.example [192.0.2.9]: 550 5.1.1 unknown' },
      'hard 5.1.1 suppressed',
    ],
    [
      'a server that said something',
      { diagnostic: 'in.reputation.example[192.0.2.9] said: 550 5.1.1 unknown' },
      'hard 5.1.1 suppressed',
    ],
    [
      'words that are written as an address',
      { diagnostic: '550 <recipnotfound@example.net> refused' },
      'soft 5.0.0',
    ],
    [
      'a domain that is called as if nobody were there',
      { diagnostic: '554 recipnotfound.example refused', addresses: ['grace@recipnotfound.example'] },
      'soft 5.0.0',
    ],
    [
      'a code within an address',
      { diagnostic: '550 <5.1.1@example.org> refused', addresses: ['5.1.1@example.org'] },
      'soft 5.0.0',
    ],
    [
      'a blocklist beside them still does',
      {
        diagnostic: '550 5.1.1 <info@nospam.example>: blocked using zen.spamhaus.org',
        addresses: ['info@nospam.example'],
      },
      'soft 5.1.1',
    ],
    [
      'a blocklist in a link still does',
      { diagnostic: '550 5.1.1 rejected, see https://www.spamhaus.org/query/ip/192.0.2.1' },
      'soft 5.1.1',
    ],
    [
      'a blocklist of a vendor still does, whose servers have another name',
      {
        diagnostic: '550 5.1.1 rejected, see http://www.barracudacentral.org/lookups',
        hosts: ['mx.example.net'],
      },
      'soft 5.1.1',
    ],
    [
      'mail to an address called spam that is called spam',
      { diagnostic: '550 5.1.1 <spam@example.org>: this is spam', addresses: ['spam@example.org'] },
      'soft 5.1.1',
    ],
  ])('%s', (_, failure, expected) => expect(judged(failure)).toBe(expected))
})

describe('a specific code beats vague words', () => {
  test.each([
    ['550 5.1.1 User unknown. Our antispam policy: https://example.org/spam', 'hard 5.1.1 suppressed'],
    ['550 5.1.1 Recipient rejected, https://example.org/spam-policy', 'hard 5.1.1 suppressed'],
    ['550 5.1.1 Recipient address rejected: Access denied', 'hard 5.1.1 suppressed'],
    ['550 5.1.10 RESOLVER.ADR.RecipientNotFound; not found (spam filter)', 'hard 5.1.10 suppressed'],
    ['552 5.2.2 invalid recipient', 'soft 5.2.2'],
    ['550 5.7.1 unknown user', 'soft 5.7.1'],
    ['550 5.7.1 <grace@example.org>: Recipient address rejected: Access denied', 'soft 5.7.1'],
    [
      '450 4.1.1 <grace@example.org>: Recipient address rejected: unverified address: user unknown',
      'soft 4.1.1',
    ],
    // Specific words are no fault of the address, with any code.
    ['550 5.1.1 User unknown: mailbox is full', 'soft 5.1.1'],
    ['550 5.1.1 Message rejected as spam', 'soft 5.1.1'],
    ['550 5.1.1 spam', 'soft 5.1.1'],
    ['550 5.1.1 refused for policy reasons', 'soft 5.1.1'],
    ['550 5.1.1 User unknown; your host is on our blocklist', 'soft 5.1.1'],
    ['550 5.1.2 Host unknown', 'hard 5.1.2 suppressed'],
    ['550 5.1.3 bad syntax', 'hard 5.1.3 suppressed'],
    ['550 5.1.6 moved', 'hard 5.1.6 suppressed'],
  ])('%s', (diagnostic, expected) => expect(judged({ diagnostic })).toBe(expected))
})

describe('specific words beat a vague code', () => {
  test.each([
    // Directory-based blocking of Exchange Online, which has no other word for a recipient that it lacks.
    [
      '550 5.4.1 Recipient address rejected: Access denied. [DB5EUR01FT012.eop-EUR01.example]',
      'hard 5.4.1 suppressed',
    ],
    ['550 5.4.1 [grace@example.org]: Recipient address rejected: Access denied', 'hard 5.4.1 suppressed'],
    ['550 5.4.1 Relay Access Denied', 'soft 5.4.1'],
    ['554 5.4.1 no answer from host', 'soft 5.4.1'],
    ['451 4.4.1 Recipient address rejected: Access denied', 'soft 4.4.1'],
    [
      '550 5.1.351 Remote server returned unknown recipient or mailbox unavailable -> 550 unknown',
      'hard 5.1.351 suppressed',
    ],
    ['550 5.1.350 Remote server returned invalid recipient address', 'hard 5.1.350 suppressed'],
    ['550 5.0.350 Remote server returned an error -> 550 5.1.1 User unknown', 'hard 5.0.350 suppressed'],
    ['550 5.0.350 Remote server returned an error -> 554 refused', 'soft 5.0.350'],
    ['550 5.0.350 Remote server returned an error -> 550 5.7.1 user unknown to you', 'soft 5.0.350'],
    ['550 5.5.0 Invalid recipient', 'hard 5.5.0 suppressed'],
    ['550 5.5.0 <grace@example.org> Invalid recipient', 'hard 5.5.0 suppressed'],
    ['554 5.5.0 Transaction failed', 'soft 5.5.0'],
    ['550 5.2.0 No such mailbox', 'hard 5.2.0 suppressed'],
    ['550 5.2.0 Message rejected as spam', 'soft 5.2.0'],
    ['553 5.3.0 <grace@example.org>... User unknown', 'hard 5.3.0 suppressed'],
    ['553 5.3.0 <grace@example.org>... Spam blocked', 'soft 5.3.0'],
    ['550 Invalid recipient', 'hard 5.1.1 suppressed'],
    ['550 Recipient grace@example.org not found', 'hard 5.1.1 suppressed'],
    ['450 Invalid recipient', 'soft 4.0.0'],
    ['550 5.0.0 Benutzer unbekannt', 'hard 5.1.1 suppressed'],
    ['550 5.2.0 Boîte de réception pleine', 'soft 5.2.0'],
    ['550 5.0.0 Buzón lleno', 'soft 5.0.0'],
  ])('%s', (diagnostic, expected) => expect(judged({ diagnostic })).toBe(expected))

  test('also if only the report names the code', () => {
    const diagnostic = '550 Recipient address rejected: Access denied'
    expect(judged({ status: '5.4.1', diagnostic })).toBe('hard 5.4.1 suppressed')
    expect(judged({ status: '5.0.0', diagnostic: '550 5.1.1 x' })).toBe('hard 5.1.1 suppressed')
  })

  test('suppresses no address if the words are about others', () => {
    const diagnostic = '550 5.4.1 Recipient address rejected: Access denied'
    expect(judged({ diagnostic, isOwn: false })).toBe('hard 5.4.1')
  })
})

describe('the words of providers', () => {
  test.each([
    ['550 5.1.1 unknown or illegal alias: grace@example.org', 'hard 5.1.1 suppressed'],
    ['550 User not found: grace@example.org', 'hard 5.1.1 suppressed'],
    ['554 delivery error: dd Not a valid recipient - atlas.example.com', 'hard 5.1.1 suppressed'],
    ['550 <grace@example.org>: recipient rejected - unknown mailbox', 'hard 5.1.1 suppressed'],
    ["551 This mail account doesn't exist or is inactive", 'hard 5.1.1 suppressed'],
    [
      '550 Invalid Recipient - https://community.example.com/docs/DOC-1369#550 [abc.uk12]',
      'hard 5.1.1 suppressed',
    ],
    [
      '554 30 Sorry, your message to grace@example.org cannot be delivered. This mailbox is disabled',
      'hard 5.2.1',
    ],
    ['550 This account has been disabled or discontinued [#101].', 'hard 5.2.1'],
    [
      '554 5.2.0 STOREDRV.Deliver.Exception:AccountDisabledException; Failed to process message',
      'hard 5.2.0',
    ],
    ['550 Your account has been disabled', 'soft 5.0.0'],
    ['450 This mailbox is disabled', 'soft 4.0.0'],
    ['550 This mailbox is disabled because of spam', 'soft 5.0.0'],
    ["552 5.2.2 The recipient's inbox is out of storage space and inactive.", 'soft 5.2.2'],
    ['550 Requested action not taken: mailbox unavailable', 'soft 5.0.0'],
    ["450 4.7.0 Proxy session setup failed with '554 5.1.1 x'", 'soft 4.7.0'],
    ['550 5.4.300 Message expired -> 451 4.7.0 Temporary server error', 'soft 5.4.300'],
    ['554 5.4.0 Error -> 450 4.1.1 user unknown for now', 'soft 5.4.0'],
    ['550 5.7.26 This mail has been blocked because the sender is unauthenticated.', 'soft 5.7.26'],
    [
      '550 5.7.509 Access denied, sending domain example.com does not pass DMARC verification',
      'soft 5.7.509',
    ],
    ["Sorry, I couldn't find any host named example.org. (#5.1.2)", 'hard 5.1.2 suppressed'],
    ['Mailbox is full / Blocks limit exceeded / Inode limit exceeded', 'soft 5.0.0'],
    ['all relevant MX records point to non-existent hosts', 'soft 5.0.0'],
    ['Command died with status 1: "/usr/bin/filter"', 'soft 5.0.0'],
  ])('%s', (diagnostic, expected) => expect(judged({ diagnostic })).toBe(expected))
})

describe('a rate, a sender and a relay are no fault of the address', () => {
  test.each([
    [
      '550 5.2.1 The user you are trying to contact is receiving mail at a rate that prevents additional messages',
      'soft 5.2.1',
    ],
    ['550 5.2.1 The user is receiving mail too quickly. Please resend later', 'soft 5.2.1'],
    ['550 5.2.1 Rate limit exceeded', 'soft 5.2.1'],
    ['552 5.2.1 Hourly limit of messages to this mailbox reached', 'soft 5.2.1'],
    ['550 5.2.1 The email account that you tried to reach is disabled', 'hard 5.2.1'],
    ['550 5.2.1 Mailbox inactive', 'hard 5.2.1'],
    ['550 5.2.1 This separate mailbox is closed', 'hard 5.2.1'],
    ['550 5.1.0 Sender denied', 'soft 5.1.0'],
    ['550 5.1.0 <ada@example.com> sender rejected : AUP#1310', 'soft 5.1.0'],
    ['550 5.1.0 Unknown sender', 'soft 5.1.0'],
    ["553 5.1.0 Sender's domain does not exist", 'soft 5.1.0'],
    ['550 5.1.0 MAIL FROM refused', 'soft 5.1.0'],
    ['550 5.1.0 From address is not valid', 'soft 5.1.0'],
    ['550 5.1.0 Absender unbekannt', 'soft 5.1.0'],
    ["550 5.1.0 Adresse d'expéditeur inconnue", 'soft 5.1.0'],
    ['550 5.1.0 Remitente desconocido', 'soft 5.1.0'],
    ['550 5.1.0 Mittente sconosciuto', 'soft 5.1.0'],
    ['550 5.1.0 <ada@example.com>: Address rejected', 'soft 5.1.0'],
    ['550 5.1.0 <grace@example.org>: Address rejected', 'hard 5.1.0 suppressed'],
    ['550 5.1.0 Address rejected', 'hard 5.1.0 suppressed'],
    ['550 5.1.0 Recipient rejected', 'hard 5.1.0 suppressed'],
    ['550 5.1.0 grace@example.org: no such user, sent by ada@example.com', 'hard 5.1.0 suppressed'],
    ['550 Verification failed for <ada@example.com> No Such User Here Sender verify failed', 'soft 5.0.0'],
    ['550 Sender address does not exist', 'soft 5.0.0'],
    ['550 5.1.1 Sender is unknown', 'soft 5.1.1'],
    ['550 5.1.1 Returned to sender: user unknown', 'hard 5.1.1 suppressed'],
    ['550 5.1.7 Invalid address', 'soft 5.1.7'],
    ['553 5.1.8 Domain of sender address ada@example.com does not exist', 'soft 5.1.8'],
    ['550 5.7.1 Unable to relay', 'soft 5.7.1'],
    ['550 5.1.2 relaying denied', 'soft 5.1.2'],
    ['550 5.1.1 Relay access denied', 'soft 5.1.1'],
    ['550 5.1.0 Relaying to <grace@example.org> denied', 'soft 5.1.0'],
    ['550 5.1.1 We do not relay', 'soft 5.1.1'],
    ['550 relay not permitted: unknown user', 'soft 5.0.0'],
    ['550 5.1.1 Relaying is prohibited', 'soft 5.1.1'],
    ['550 5.1.1 The relay says: no such user', 'hard 5.1.1 suppressed'],
  ])('%s', (diagnostic, expected) => expect(judged({ diagnostic })).toBe(expected))
})
