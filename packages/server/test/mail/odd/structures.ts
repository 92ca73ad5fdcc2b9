import { fileEntity, forwardedEntity, multipart, textEntity } from '../mime.ts'
import { cut, mail, mailOf, multi, crlf, type OddTable } from './odd-message.ts'

const TEXT = 'Content-Type: text/plain\n\nIn words.'
const MARKUP = 'Content-Type: text/html\n\n<p>In colours.</p>'
const FILE = 'Content-Type: application/pdf\nContent-Disposition: attachment; filename=a.pdf\n\n%PDF'
const IMAGE =
  'Content-Type: image/png\nContent-ID: <logo@a.test>\nContent-Transfer-Encoding: base64\n\niVBORw0KGgo='
const INNER = 'From: b@b.test\nSubject: within\n\nThe message within.'

function nest(kind: string, boundary: string, parts: readonly string[]) {
  return `Content-Type: multipart/${kind}; boundary=${boundary}\n\n${cut(parts, boundary).trimEnd()}`
}

const MULTIPARTS: OddTable = {
  'mixed of text and a file': {
    raw: multi('mixed', [TEXT, FILE]),
    text: 'In words.',
    attachments: ['2 application/pdf 4 a.pdf'],
  },
  alternative: { raw: multi('alternative', [TEXT, MARKUP]), text: 'In words.', html: '<p>In colours.</p>' },
  'alternative with HTML first': {
    raw: multi('alternative', [MARKUP, TEXT]),
    text: 'In words.',
    html: '<p>In colours.</p>',
  },
  'alternative of three texts': {
    raw: multi('alternative', [TEXT, 'Content-Type: text/plain\n\nAgain.', MARKUP]),
    text: 'In words.\nAgain.',
  },
  'alternative with a calendar last': {
    raw: multi('alternative', [TEXT, 'Content-Type: text/calendar; method=REQUEST\n\nBEGIN:VCALENDAR']),
    attachments: ['2 text/calendar 15'],
  },
  'related of HTML and its image': {
    raw: multi('related', [MARKUP, IMAGE], '; type="text/html"'),
    html: '<p>In colours.</p>',
    attachments: ['2 image/png 8 inline <logo@a.test>'],
    hasAttachments: false,
  },
  'related with the image first, and a start': {
    raw: multi('related', [IMAGE, `Content-ID: <root@a>\n${MARKUP}`], '; start="<root@a>"'),
    html: '<p>In colours.</p>',
    attachments: ['1 image/png 8 inline <logo@a.test>'],
  },
  'related within alternative within mixed': {
    raw: multi('mixed', [nest('alternative', 'alt', [TEXT, nest('related', 'rel', [MARKUP, IMAGE])]), FILE]),
    text: 'In words.',
    attachments: ['1.2.2 image/png 8 inline <logo@a.test>', '2 application/pdf 4 a.pdf'],
  },
  'alternative within related within mixed': {
    raw: multi('mixed', [nest('related', 'rel', [nest('alternative', 'alt', [TEXT, MARKUP]), IMAGE]), FILE]),
    attachments: ['1.2 image/png 8 inline <logo@a.test>', '2 application/pdf 4 a.pdf'],
  },
  'text, an image, and text again': {
    raw: multi('mixed', [TEXT, IMAGE.replace(/Content-ID.*\n/, ''), 'Content-Type: text/plain\n\nAfter it.']),
    text: 'In words.\nAfter it.',
    attachments: ['2 image/png 8'],
    hasAttachments: true,
  },
  'parts without any header': { raw: multi('mixed', ['\nOne.', '\nTwo.']), text: 'One.\nTwo.' },
  'a multipart of one empty part': { raw: multi('mixed', ['\n']), text: '' },
  'a multipart within which a multipart has no parts': {
    raw: multi('mixed', [TEXT, 'Content-Type: multipart/mixed; boundary=none\n\nNothing of it.', FILE]),
    text: 'In words.',
    attachments: ['3 application/pdf 4 a.pdf'],
    unlike: { python: ['attachments'], why: 'A message without parts has no attachments to show' },
  },
  'nested ten deep': {
    raw: mailOf(
      Array.from({ length: 10 }).reduce<ReturnType<typeof textEntity>>(
        (inner, _, level) => multipart('mixed', [inner], `level${level}`),
        textEntity('At the bottom.'),
      ),
    ),
    text: 'At the bottom.',
  },
  'an unknown kind of multipart': {
    raw: multi('x-odd', [TEXT, FILE]),
    text: 'In words.',
    attachments: ['2 application/pdf 4 a.pdf'],
  },
  'form data': {
    raw: multi('form-data', ['Content-Disposition: form-data; name=a\n\nvalue']),
    text: 'value',
  },
  'apple-double': {
    raw: multi('mixed', [
      TEXT,
      nest('appledouble', 'mac', [
        'Content-Type: application/applefile; name=a.pdf\nContent-Transfer-Encoding: base64\n\nAAUWBw==',
        'Content-Type: application/pdf; name=a.pdf\nContent-Disposition: inline; filename=a.pdf\n\n%PDF',
      ]),
    ]),
    attachments: ['2.1 application/applefile 4 a.pdf', '2.2 application/pdf 4 inline a.pdf'],
  },
  'parallel of two': {
    raw: multi('parallel', [TEXT, MARKUP]),
    text: 'In words.',
    html: '<p>In colours.</p>',
  },
}

const MESSAGES: OddTable = {
  'a message within a message': {
    raw: multi('mixed', [TEXT, `Content-Type: message/rfc822\n\n${INNER}`]),
    attachments: ['2 message/rfc822 54'],
    hasAttachments: true,
  },
  'a message with files within a message': {
    raw: mailOf(
      multipart(
        'mixed',
        [
          textEntity('See the message.'),
          forwardedEntity(
            mailOf(multipart('mixed', [textEntity('Within.'), fileEntity('b.bin', Buffer.from('b'))], 'in')),
          ),
          fileEntity('a.bin', Buffer.from('a')),
        ],
        'out',
      ),
    ),
    text: 'See the message.',
    attachments: ['2 message/rfc822 472 inline', '3 application/octet-stream 1 a.bin'],
  },
  'a message that is a message': {
    raw: mail('Content-Type: message/rfc822', INNER),
    text: null,
    attachments: ['1 message/rfc822 54'],
  },
  'a message within a message in base64': {
    raw: multi('mixed', [
      TEXT,
      `Content-Type: message/rfc822\nContent-Transfer-Encoding: base64\n\n${crlf(INNER).toString('base64')}`,
    ]),
    attachments: ['2 message/rfc822 54'],
    unlike: { dovecot: true, why: 'RFC 2046 section 5.2.1 forbids it; decoded, it is of more use' },
  },
  'a message within a message in quoted-printable': {
    raw: multi('mixed', [
      TEXT,
      `Content-Type: message/rfc822\nContent-Transfer-Encoding: quoted-printable\n\n${INNER}`,
    ]),
    attachments: ['2 message/rfc822 54'],
  },
  'a message within a message, as a named file': {
    raw: multi('mixed', [
      TEXT,
      `Content-Type: message/rfc822; name="It.eml"\nContent-Disposition: attachment\n\n${INNER}`,
    ]),
    attachments: ['2 message/rfc822 54 It.eml'],
  },
  'a message within a message, with the boundary of the outer': {
    raw: multi('mixed', [
      TEXT,
      `Content-Type: message/rfc822\n\nSubject: x\nContent-Type: multipart/mixed; boundary=cut\n\nlost`,
    ]),
    attachments: ['2 message/rfc822 63'],
    unlike: { dovecot: true, why: 'Dovecot looks into it, and takes the delimiter for that of the inner' },
  },
  'a digest': {
    raw: multi('digest', [`\n${INNER}`, `Content-Type: message/rfc822\n\n${INNER}`]),
    text: null,
    attachments: ['1 message/rfc822 54', '2 message/rfc822 54'],
    hasAttachments: true,
  },
  'a digest with text in it': {
    raw: multi('digest', [TEXT, `\n${INNER}`]),
    text: 'In words.',
    attachments: ['2 message/rfc822 54'],
  },
  'a part of a message': {
    raw: mail('Content-Type: message/partial; id="a@a"; number=1; total=2', 'Subject: x\n\nHalf of it.\n'),
    text: null,
    attachments: ['1 message/partial 27'],
    unlike: { python: ['attachments'], why: 'Python takes every message/* for a container' },
  },
  'a message that lies elsewhere': {
    raw: mail(
      'Content-Type: message/external-body; access-type=URL; URL="https://a.test/"',
      'Content-Type: image/png\n\n',
    ),
    text: null,
    attachments: ['1 message/external-body 27'],
    unlike: { python: ['attachments'], why: 'Python takes every message/* for a container' },
  },
  'a global message': {
    raw: multi('mixed', [TEXT, `Content-Type: message/global\n\nSubject: Grüße\n\nÜ`]),
    attachments: ['2 message/global 22'],
    unlike: { python: ['attachments'], why: 'Python takes every message/* for a container' },
  },
}

export const ODD_STRUCTURES: OddTable = { ...MULTIPARTS, ...MESSAGES }
