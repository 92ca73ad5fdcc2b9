import { cut, mail, multi, type OddTable } from './odd-message.ts'

const INVITATION = 'BEGIN:VCALENDAR\nMETHOD:REQUEST\nBEGIN:VEVENT\nUID:1@a.test\nEND:VEVENT\nEND:VCALENDAR'
const SIGNATURE = 'MIIBBQYJKoZIhvcNAQcCoIH3MIH0AgEBMQ8wDQYJYIZIAWUDBAIBBQA='
const P7S = `Content-Type: application/pkcs7-signature; name=smime.p7s\nContent-Disposition: attachment; filename=smime.p7s\nContent-Transfer-Encoding: base64\n\n${SIGNATURE}`

const CALENDARS: OddTable = {
  'an invitation as Google sends it': {
    raw: multi('mixed', [
      `Content-Type: multipart/alternative; boundary=alt\n\n${cut(
        [
          'Content-Type: text/plain\n\nYou are invited.',
          'Content-Type: text/html\n\n<p>You are invited.</p>',
          `Content-Type: text/calendar; charset=UTF-8; method=REQUEST\n\n${INVITATION}`,
        ],
        'alt',
      ).trimEnd()}`,
      `Content-Type: application/ics; name="invite.ics"\nContent-Disposition: attachment; filename="invite.ics"\n\n${INVITATION}`,
    ]),
    text: 'You are invited.',
    html: '<p>You are invited.</p>',
    attachments: ['1.3 text/calendar 86', '2 application/ics 86 invite.ics'],
  },
  'an invitation alone': {
    raw: mail('Content-Type: text/calendar; method=REQUEST', INVITATION),
    text: null,
    attachments: ['1 text/calendar 86'],
  },
  'a reply to an invitation': {
    raw: multi('alternative', [
      '\nAccepted.',
      `Content-Type: text/calendar; method=REPLY; name=reply.ics\nContent-Class: urn:content-classes:calendarmessage\n\n${INVITATION}`,
    ]),
    text: 'Accepted.',
    attachments: ['2 text/calendar 86 reply.ics'],
  },
}

const SECURED: OddTable = {
  'S/MIME, signed in the clear': {
    raw: multi(
      'signed',
      ['Content-Type: text/plain\n\nSigned words.', P7S],
      '; protocol="application/pkcs7-signature"; micalg=sha-256',
    ),
    text: 'Signed words.',
    attachments: ['2 application/pkcs7-signature 41 smime.p7s'],
  },
  'S/MIME, signed with files': {
    raw: multi('signed', [
      `Content-Type: multipart/mixed; boundary=in\n\n${cut(['\nSigned words.', 'Content-Type: application/pdf; name=a.pdf\n\n%PDF'], 'in').trimEnd()}`,
      P7S,
    ]),
    text: 'Signed words.',
    attachments: ['1.2 application/pdf 4 a.pdf', '2 application/pkcs7-signature 41 smime.p7s'],
  },
  'S/MIME, signed and opaque': {
    raw: mail(
      `Content-Type: application/pkcs7-mime; smime-type=signed-data; name=smime.p7m\nContent-Disposition: attachment; filename=smime.p7m\nContent-Transfer-Encoding: base64`,
      SIGNATURE,
    ),
    text: null,
    attachments: ['1 application/pkcs7-mime 41 smime.p7m'],
  },
  'S/MIME, encrypted': {
    raw: mail(
      'Content-Type: application/x-pkcs7-mime; smime-type=enveloped-data; name=smime.p7m\nContent-Transfer-Encoding: base64',
      SIGNATURE,
    ),
    text: null,
    attachments: ['1 application/x-pkcs7-mime 41 smime.p7m'],
  },
  'PGP/MIME, signed': {
    raw: multi(
      'signed',
      [
        '\nSigned words.',
        'Content-Type: application/pgp-signature; name="signature.asc"\n\n-----BEGIN PGP SIGNATURE-----\n-----END PGP SIGNATURE-----',
      ],
      '; protocol="application/pgp-signature"',
    ),
    text: 'Signed words.',
    attachments: ['2 application/pgp-signature 58 signature.asc'],
  },
  'PGP/MIME, encrypted': {
    raw: multi(
      'encrypted',
      [
        'Content-Type: application/pgp-encrypted\n\nVersion: 1',
        'Content-Type: application/octet-stream; name="encrypted.asc"\nContent-Disposition: inline; filename="encrypted.asc"\n\n-----BEGIN PGP MESSAGE-----',
      ],
      '; protocol="application/pgp-encrypted"',
    ),
    text: null,
    attachments: ['1 application/pgp-encrypted 10', '2 application/octet-stream 27 inline encrypted.asc'],
  },
  'PGP within text': {
    raw: mail('Content-Type: text/plain', '-----BEGIN PGP SIGNED MESSAGE-----\nHash: SHA512\n\n- -- \nAda\n'),
    text: '-----BEGIN PGP SIGNED MESSAGE-----\nHash: SHA512\n\n- -- \nAda',
  },
}

const STATUS =
  'Reporting-MTA: dns; a.test\n\nFinal-Recipient: rfc822; b@b.test\nAction: failed\nStatus: 5.1.1'
const RETURNED = 'From: a@a.test\nSubject: lost\n\nIt was this.'

function report(kind: string, type: string, content: string, last: string) {
  return multi(
    'report',
    [
      '\nIt could not be done.',
      `Content-Type: ${type}\n\n${content}`,
      `Content-Type: ${last}\n\n${RETURNED}`,
    ],
    `; report-type=${kind}`,
  )
}

const REPORTS: OddTable = {
  'a bounce': {
    raw: report('delivery-status', 'message/delivery-status', STATUS, 'message/rfc822'),
    text: 'It could not be done.',
    attachments: ['2 message/delivery-status 94', '3 message/rfc822 45'],
    hasAttachments: true,
    unlike: { python: ['attachments'], why: 'Python takes every message/* for a container' },
  },
  'a bounce with the header alone': {
    raw: report('delivery-status', 'message/delivery-status', STATUS, 'text/rfc822-headers'),
    attachments: ['2 message/delivery-status 94', '3 text/rfc822-headers 45'],
    unlike: { python: ['attachments'], why: 'Python takes every message/* for a container' },
  },
  'a bounce without what came back': {
    raw: multi('report', ['\nIt could not be done.', `Content-Type: message/delivery-status\n\n${STATUS}`]),
    text: 'It could not be done.',
    attachments: ['2 message/delivery-status 94'],
    hasAttachments: false,
    unlike: { python: ['attachments'], why: 'Python takes every message/* for a container' },
  },
  'a receipt alone': {
    raw: multi('report', [
      '\nIt was read.',
      'Content-Type: message/disposition-notification\n\nDisposition: manual-action/MDN-sent-manually; displayed',
    ]),
    attachments: ['2 message/disposition-notification 55'],
    hasAttachments: false,
    unlike: { python: ['attachments'], why: 'Python takes every message/* for a container' },
  },
  'a complaint alone': {
    raw: multi('report', ['\nA complaint.', 'Content-Type: message/feedback-report\n\nFeedback-Type: abuse']),
    attachments: ['2 message/feedback-report 20'],
    hasAttachments: false,
    unlike: { python: ['attachments'], why: 'Python takes every message/* for a container' },
  },
  'a bounce in words': {
    raw: mail(
      'From: MAILER-DAEMON (Mail Delivery System)\nContent-Type: text/plain',
      'This is the Postfix program.\n\n<b@b.test>: unknown user\n',
    ),
    text: 'This is the Postfix program.\n\n<b@b.test>: unknown user',
  },
  'a bounce without a sender': {
    raw: mail('Return-Path: <>\nFrom: <>\nAuto-Submitted: auto-replied'),
    from: null,
  },
  'a receipt': {
    raw: report(
      'disposition-notification',
      'message/disposition-notification',
      'Disposition: manual-action/MDN-sent-manually; displayed',
      'message/rfc822',
    ),
    attachments: ['2 message/disposition-notification 55', '3 message/rfc822 45'],
    unlike: { python: ['attachments'], why: 'Python takes every message/* for a container' },
  },
  'a complaint': {
    raw: report(
      'feedback-report',
      'message/feedback-report',
      'Feedback-Type: abuse\nVersion: 1',
      'message/rfc822',
    ),
    attachments: ['2 message/feedback-report 32', '3 message/rfc822 45'],
    unlike: { python: ['attachments'], why: 'Python takes every message/* for a container' },
  },
  'a report of DMARC': {
    raw: mail(
      'Content-Type: application/zip; name="a.test!b.test!1!2.zip"\nContent-Disposition: attachment; filename="a.test!b.test!1!2.zip"\nContent-Transfer-Encoding: base64',
      'UEsFBgAAAAAAAAAAAAAAAAAAAAAAAA==',
    ),
    text: null,
    attachments: ['1 application/zip 22 a.test!b.test!1!2.zip'],
  },
}

const CLIENTS: OddTable = {
  'TNEF of Outlook': {
    raw: multi('mixed', [
      '\nHello.',
      'Content-Type: application/ms-tnef; name="winmail.dat"\nContent-Disposition: attachment; filename="winmail.dat"\nContent-Transfer-Encoding: base64\n\neJ8+IgAA',
    ]),
    text: 'Hello.',
    attachments: ['2 application/ms-tnef 6 winmail.dat'],
  },
  'TNEF without a name': {
    raw: multi('mixed', ['\nHello.', 'Content-Type: application/ms-tnef\n\neJ8+']),
    attachments: ['2 application/ms-tnef 4'],
    hasAttachments: true,
  },
  'a letter of Outlook with its logo': {
    raw: multi(
      'related',
      [
        `Content-Type: multipart/alternative;\n\tboundary="_000_alt"\n\n${cut(['Content-Type: text/plain; charset="us-ascii"\nContent-Transfer-Encoding: quoted-printable\n\nDear all=2C', 'Content-Type: text/html; charset="us-ascii"\nContent-Transfer-Encoding: quoted-printable\n\n<img src=3D"cid:image001.png@01D0">'], '_000_alt')}`,
        'Content-Type: image/png; name="image001.png"\nContent-Description: image001.png\nContent-Disposition: inline; filename="image001.png"; size=8\nContent-ID: <image001.png@01D0>\nContent-Transfer-Encoding: base64\n\niVBORw0KGgo=',
      ],
      ';\n\ttype="multipart/alternative"',
    ),
    text: 'Dear all,',
    html: '<img src="cid:image001.png@01D0">',
    attachments: ['2 image/png 8 inline <image001.png@01D0> image001.png'],
    hasAttachments: false,
  },
  'a letter of Apple with a file between its texts': {
    raw: multi('alternative', [
      'Content-Type: text/plain\n\nBefore. After.',
      `Content-Type: multipart/mixed; boundary=Apple\n\n${cut(['Content-Type: text/html\n\n<p>Before.</p>', 'Content-Disposition: inline;\n\tfilename=a.pdf\nContent-Type: application/pdf;\n\tx-unix-mode=0644;\n\tname="a.pdf"\n\n%PDF', 'Content-Type: text/html\n\n<p>After.</p>'], 'Apple').trimEnd()}`,
    ]),
    text: 'Before. After.',
    html: '<p>Before.</p>\n<p>After.</p>',
    attachments: ['2.2 application/pdf 4 inline a.pdf'],
    hasAttachments: true,
  },
  'a letter of Gmail with an image and a file': {
    raw: multi('mixed', [
      `Content-Type: multipart/related; boundary=000rel\n\n${cut([`Content-Type: multipart/alternative; boundary=000alt\n\n${cut(['Content-Type: text/plain; charset="UTF-8"\n\n[image: a.png]', 'Content-Type: text/html; charset="UTF-8"\n\n<img src="cid:ii_1">'], '000alt').trimEnd()}`, 'Content-Type: image/png; name="a.png"\nContent-Disposition: inline; filename="a.png"\nX-Attachment-Id: ii_1\nContent-ID: <ii_1>\n\nPNG'], '000rel').trimEnd()}`,
      'Content-Type: application/pdf; name="b.pdf"\nContent-Disposition: attachment; filename="b.pdf"\nX-Attachment-Id: f_1\n\n%PDF',
    ]),
    text: '[image: a.png]',
    html: '<img src="cid:ii_1">',
    attachments: ['1.2 image/png 3 inline <ii_1> a.png', '2 application/pdf 4 b.pdf'],
  },
  'a voice message': {
    raw: multi('voice-message', [
      'Content-Type: audio/wav; name=a.wav\nContent-Disposition: inline; voice=Voice-Message; filename=a.wav\n\nRIFF',
    ]),
    text: null,
    attachments: ['1 audio/wav 4 inline a.wav'],
  },
  'a letter with AMP': {
    raw: multi('alternative', [
      '\nIn words.',
      'Content-Type: text/x-amp-html\n\n<html amp4email>',
      'Content-Type: text/html\n\n<p>In colours.</p>',
    ]),
    text: 'In words.',
    html: '<p>In colours.</p>',
    attachments: ['2 text/x-amp-html 16'],
  },
  'a contact': {
    raw: multi('mixed', ['\nMy card.', 'Content-Type: text/vcard; name=ada.vcf\n\nBEGIN:VCARD']),
    text: 'My card.',
    attachments: ['2 text/vcard 11 ada.vcf'],
  },
}

export const ODD_MACHINES: OddTable = { ...CALENDARS, ...SECURED, ...REPORTS, ...CLIENTS }
