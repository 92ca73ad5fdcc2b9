import { type DsnShape, GONE, GRACE, plain, report, soft } from './write-report.ts'

/** Reports in other languages, and in odd forms. */
export const LANGUAGE_SHAPES: readonly DsnShape[] = [
  {
    name: 'GMX in German',
    write: plain({
      from: 'GMX Mailer Daemon <mailer-daemon@gmx.example>',
      subject: 'Mail delivery failed: returning message to sender',
      text: () => [
        'Diese Nachricht wurde automatisch erzeugt.',
        'Ihre E-Mail konnte nicht zugestellt werden.',
        '',
        'grace@example.org:',
        'Empfänger unbekannt',
      ],
    }),
    expected: GONE,
  },
  {
    name: 'Exchange in German, full',
    write: plain({
      from: 'postmaster@example.org',
      subject: 'Unzustellbar: The quarterly figures',
      text: () => [
        'Fehler bei der Nachrichtenzustellung an folgende Empfänger oder Gruppen:',
        '',
        'grace@example.org',
        'Das Postfach ist voll. Der Empfänger kann keine Nachrichten annehmen.',
        '550 5.2.2',
      ],
    }),
    expected: soft('5.2.2'),
  },
  {
    name: 'French',
    write: plain({
      from: 'postmaster@example.org',
      subject: 'Échec de la remise',
      text: () => [
        "Votre message n'a pas pu être remis aux destinataires suivants :",
        '',
        'grace@example.org',
        "L'adresse n'existe pas.",
      ],
    }),
    expected: GONE,
  },
  {
    name: 'Spanish',
    write: plain({
      from: 'postmaster@example.org',
      subject: 'No entregado',
      text: () => [
        'No se ha podido entregar el mensaje a:',
        '',
        'grace@example.org',
        'La dirección no existe.',
      ],
    }),
    expected: GONE,
  },
  {
    name: 'Italian',
    write: plain({
      from: 'postmaster@example.org',
      subject: 'Recapito non riuscito',
      text: () => [
        'Non è stato possibile recapitare il messaggio a:',
        'grace@example.org',
        'Utente sconosciuto (550)',
      ],
    }),
    expected: GONE,
  },
  {
    name: 'Portuguese',
    write: plain({
      from: 'postmaster@example.org',
      subject: 'Falha na entrega',
      text: () => ['A mensagem não foi entregue a:', 'grace@example.org', 'O endereço não existe.'],
    }),
    expected: GONE,
  },
  {
    name: 'Dutch',
    write: plain({
      from: 'postmaster@example.org',
      subject: 'Onbestelbaar: The quarterly figures',
      text: () => [
        'Het bericht kon niet worden bezorgd aan:',
        'grace@example.org',
        'Het adres bestaat niet.',
      ],
    }),
    expected: GONE,
  },
  {
    name: 'Polish',
    write: plain({
      from: 'postmaster@example.org',
      subject: 'Niedostarczona wiadomość',
      text: () => ['Wiadomości nie udało się dostarczyć do:', 'grace@example.org', 'Konto nie istnieje.'],
    }),
    expected: GONE,
  },
  {
    name: 'Swedish',
    write: plain({
      from: 'postmaster@example.org',
      subject: 'Det gick inte att leverera',
      text: () => ['Meddelandet kunde inte levereras till:', 'grace@example.org', 'Adressen finns inte.'],
    }),
    expected: GONE,
  },
  {
    name: 'Czech',
    write: plain({
      from: 'postmaster@example.org',
      subject: 'Nedoručitelná zpráva',
      text: () => ['Zprávu nebylo možné doručit:', 'grace@example.org', 'Schránka neexistuje.'],
    }),
    expected: GONE,
  },
  {
    name: 'Japanese',
    write: plain({
      from: 'postmaster@example.org',
      subject: 'failure notice',
      text: () => ['メールを配信できませんでした。', 'grace@example.org', 'このアドレスは存在しません。'],
    }),
    expected: GONE,
  },
  {
    name: 'Chinese',
    write: plain({
      from: 'postmaster@qq.example',
      subject: '系统退信',
      text: () => ['您的邮件无法投递到以下收件人：', 'grace@example.org', '收件人不存在'],
    }),
    expected: GONE,
  },
  {
    name: 'HTML only',
    write: plain({
      contentType: 'text/html; charset=utf-8',
      from: 'postmaster@example.org',
      subject: 'Undeliverable: The quarterly figures',
      text: () => [
        '<html><body><h1>Delivery has failed to these recipients or groups:</h1>',
        '<p><a href="mailto:grace@example.org">grace@example.org</a><br>',
        "The e-mail address you entered couldn't be found.</p>",
      ],
      copy: ({ messageId }) => [
        `<p>Original message headers:</p><pre>Message-ID: ${messageId.replace('<', '&lt;').replace('>', '&gt;')}`,
        '</pre></body></html>',
      ],
    }),
    expected: GONE,
  },
  {
    name: 'multipart/mixed of a daemon',
    write: report({ type: 'multipart/mixed', fields: [] }),
    expected: GONE,
  },
  {
    name: 'a list of recipients without words about one of them',
    write: plain({
      fields: ['X-Failed-Recipients: grace@example.org, max@example.org'],
      text: () => ['Delivery failed to one or more recipients. 550 5.1.1 User unknown.'],
    }),
    expected: [`${GRACE} hard 5.1.1`, 'max@example.org hard 5.1.1'],
  },
  {
    name: 'an unknown program, with a code beside the address',
    write: plain({
      from: '<>',
      subject: 'Mail could not be delivered',
      text: () => ['Undeliverable.', 'To: grace@example.org', 'Error: 550 5.1.1 unknown'],
    }),
    expected: GONE,
  },
]
