/* Cards in the style of the programs that write them. */

/** A card with CRLF, from a text that is indented like its code. */
export function card(text: string): Buffer {
  const lines = text.split('\n').map(line => line.replace(/^ {4}/, ''))
  return Buffer.from(lines.join('\n').trim().replaceAll('\n', '\r\n') + '\r\n')
}

/** The first bytes of a JPEG image. */
const JPEG = '/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAAgGBgcGBQgHBwcJCQgKDBQNDAsLDBkSEw8UHRofHh0a'
const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

export const WRITTEN_CARDS: Readonly<Record<string, Buffer>> = {
  'Apple, with labels and groups': card(`
    BEGIN:VCARD
    VERSION:3.0
    PRODID:-//Apple Inc.//macOS 14.4//EN
    N:Müller;Anna;Maria,Luise;Dr.;M.A.
    FN:Dr. Anna Müller
    NICKNAME:Anni
    ORG:Werk GmbH;Vertrieb;Süd
    TITLE:Leiterin
    EMAIL;type=INTERNET;type=HOME;type=pref:anna@example.org
    item1.EMAIL;type=INTERNET:boat@example.org
    item1.X-ABLabel:Boat
    TEL;type=CELL;type=VOICE;type=pref:+49 151 1234567
    item2.TEL:+49 30 123456
    item2.X-ABLabel:_$!<Work>!$_
    TEL;type=IPHONE;type=CELL;type=VOICE:+49 151 7654321
    item3.ADR;type=HOME;type=pref:;;Weg 1;Berlin;;10115;Germany
    item3.X-ABADR:de
    item4.URL;type=pref:https\\://example.org
    item4.X-ABLabel:_$!<HomePage>!$_
    BDAY;value=date:1985-04-12
    NOTE:Met in Berlin\\nLikes tea
    X-ABUID:6B29FC40-CA47-1067-B31D-00DD010662DA\\:ABPerson
    UID:6b29fc40-ca47-1067-b31d-00dd010662da
    REV:2026-01-02T03:04:05Z
    END:VCARD`),
  'Apple, with a birthday without a year': card(`
    BEGIN:VCARD
    VERSION:3.0
    N:Doe;Jo;;;
    FN:Jo Doe
    BDAY;X-APPLE-OMIT-YEAR=1604;value=date:1604-02-29
    X-SOCIALPROFILE;type=twitter;x-user=jo:https://twitter.com/jo
    X-ABShowAs:COMPANY
    UID:u-apple-2
    END:VCARD`),
  'Apple, with a photo and its crop': card(`
    BEGIN:VCARD
    VERSION:3.0
    N:Pix;Pia;;;
    FN:Pia Pix
    PHOTO;X-ABCROP-RECTANGLE=ABClipRect_1&0&0&600&600&abc==;ENCODING=b;TYPE=JPEG:
     ${JPEG.slice(0, 40)}
     ${JPEG.slice(40)}
    TEL;type=HOME;type=FAX:+1 555 0100
    UID:u-apple-3
    END:VCARD`),
  'Apple, a group': card(`
    BEGIN:VCARD
    VERSION:3.0
    N:Friends
    FN:Friends
    X-ADDRESSBOOKSERVER-KIND:group
    X-ADDRESSBOOKSERVER-MEMBER:urn:uuid:6b29fc40-ca47-1067-b31d-00dd010662da
    UID:u-apple-group
    END:VCARD`),
  'Apple, phonetic names and dates': card(`
    BEGIN:VCARD
    VERSION:3.0
    N:山田;太郎;;;
    FN:山田 太郎
    X-PHONETIC-FIRST-NAME:たろう
    X-PHONETIC-LAST-NAME:やまだ
    item1.X-ABDATE;type=pref:2010-06-01
    item1.X-ABLabel:_$!<Anniversary>!$_
    item2.X-ABRELATEDNAMES:花子
    item2.X-ABLabel:_$!<Spouse>!$_
    item3.TEL:03-1234-5678
    item3.X-ABLabel:_$!<HomeFAX>!$_
    UID:u-apple-5
    END:VCARD`),
  'iCloud, a company': card(`
    BEGIN:VCARD
    VERSION:3.0
    PRODID:-//Apple Inc.//iCloud Web Address Book 2026//EN
    N:;;;;
    FN:Bakery\\, Ltd.
    ORG:Bakery\\, Ltd.;
    X-ABShowAs:COMPANY
    TEL;TYPE=MAIN;TYPE=pref:+1 555 0101
    REV:2026-02-03T04:05:06Z
    UID:u-icloud-1
    END:VCARD`),
  'Google, exported': card(`
    BEGIN:VCARD
    VERSION:3.0
    FN:Bob van Dyke
    N:van Dyke;Bob;;;
    item1.EMAIL;TYPE=INTERNET:bob@example.com
    item1.X-ABLabel:
    EMAIL;TYPE=INTERNET;TYPE=WORK:bob@work.example
    TEL;TYPE=CELL:+15550102
    item2.TEL:+15550103
    item2.X-ABLabel:Sailing club
    PHOTO:https://lh3.googleusercontent.com/contacts/AbC-123
    item3.ORG:Dyke & Sons;Sales
    item3.X-ABLabel:
    CATEGORIES:myContacts
    END:VCARD`),
  'Google, by CardDAV': card(`
    BEGIN:VCARD
    VERSION:3.0
    N:Roe;Rita;;;
    FN:Rita Roe
    REV:2026-03-04T05:06:07Z
    UID:3f2a1b
    item1.X-ABLABEL:work cell
    item1.TEL;TYPE=CELL:+15550104
    TEL;TYPE=WORK;TYPE=FAX:+15550105
    TEL;TYPE=HOME:tel:+1-555-0106;ext=7
    BDAY:--0412
    NOTE:first\\, second\\; third \\\\ fourth
    END:VCARD`),
  'Outlook for Windows': card(`
    BEGIN:VCARD
    VERSION:2.1
    N;LANGUAGE=de;CHARSET=Windows-1252;ENCODING=QUOTED-PRINTABLE:Gro=DF;G=FCnter
    FN:Guenter Gross
    ORG:Contoso;Legal
    TITLE:Counsel
    NOTE;ENCODING=QUOTED-PRINTABLE:First line=0D=0ASecond line with a =3D sign and a long t=
    ail that goes on
    TEL;WORK;VOICE:(425) 555-0107
    TEL;CELL;VOICE:(425) 555-0108
    TEL;WORK;FAX:(425) 555-0109
    ADR;WORK;PREF;ENCODING=QUOTED-PRINTABLE:;;One Way=0D=0ASuite 2;Redmond;WA;98052;USA
    X-MS-OL-DEFAULT-POSTAL-ADDRESS:2
    BDAY:19700101
    EMAIL;PREF;INTERNET:guenter@contoso.example
    PHOTO;TYPE=JPEG;ENCODING=BASE64:
     ${JPEG.slice(0, 40)}
     ${JPEG.slice(40)}

    X-MS-OL-DESIGN;CHARSET=utf-8:<card xmlns="http://schemas.microsoft.com/office/outlook/12/electronicbusinesscards" ver="1.0"></card>
    REV:20260405T060708Z
    END:VCARD`),
  'Outlook for Mac': card(`
    BEGIN:VCARD
    VERSION:3.0
    PRODID:-//Microsoft Corporation//Outlook for Mac MIMEDIR//EN
    N:Silva;João;;Sr.;
    FN:João Silva
    NICKNAME:Jota,Joãozinho
    EMAIL;TYPE=internet,work,pref:joao@example.pt
    TEL;TYPE=work,voice:+351 21 1
    TEL;TYPE=work,pager:+351 21 2
    X-MS-IMADDRESS:joao
    BDAY;VALUE=date:1979-12-31
    END:VCARD`),
  DAVx5: card(`
    BEGIN:VCARD
    VERSION:4.0
    PRODID:DAVx5/4.4 ez-vcard/0.12.1
    UID:0c1d2e3f-0000-4000-8000-000000000001
    FN:Ms. Carla C. Cruz
    N:Cruz;Carla;C.;Ms.;
    davdroid1.TEL;TYPE=cell:+34 600 000 001
    davdroid1.X-ABLabel:Ship's bridge
    TEL;PREF=1;TYPE=home,voice:+34 900 000 002
    TEL;TYPE="work,fax":+34 900 000 003
    EMAIL;TYPE=home;PREF=1:carla@example.es
    EMAIL;TYPE=x-other:carla@other.example
    ORG:Cruz SA;I+D;Lab
    TITLE:Ingeniera
    ROLE:Jefa
    RELATED;TYPE=friend:urn:uuid:f81d4fae-7dec-11d0-a765-00a0c91e6bf6
    BDAY:--0412
    PHOTO:data:image/jpeg;base64,${JPEG}
    REV:20260506T070809Z
    END:VCARD`),
  Nextcloud: card(`
    BEGIN:VCARD
    VERSION:3.0
    PRODID:-//Sabre//Sabre VObject 4.5.4//EN
    UID:0c1d2e3f-0000-4000-8000-000000000002
    FN:Dirk Deich
    N:Deich;Dirk;;;
    ADR;TYPE=HOME:;;;;;;
    EMAIL;TYPE="HOME,INTERNET":dirk@example.nl
    TEL;TYPE="HOME,VOICE":0201
    TEL;TYPE=HOME,VOICE:0202
    PHOTO;ENCODING=b;TYPE=image/png:${PNG}
    CLOUD:dirk@cloud.example
    X-SOCIALPROFILE;TYPE=mastodon:@dirk@social.example
    CATEGORIES:Family,Work
    REV;VALUE=DATE-AND-OR-TIME:20260607T080910Z
    END:VCARD`),
  'Nextcloud, version 4': card(`
    BEGIN:VCARD
    VERSION:4.0
    UID:0c1d2e3f-0000-4000-8000-000000000003
    FN:Eef
    PRODID:-//Nextcloud Contacts v6.0.0
    PHOTO;VALUE=uri:https://cloud.example/p.png
    X-MANAGERSNAME:Boss
    BDAY;VALUE=DATE-AND-OR-TIME:19850412T000000
    TZ:Europe/Amsterdam
    END:VCARD`),
  Thunderbird: card(`
    BEGIN:VCARD
    VERSION:4.0
    EMAIL;PREF=1:frank@example.com
    EMAIL:frank2@example.com
    FN:Frank Fuchs
    NICKNAME:Fränkie
    N;SORT-AS="Fuchs,Frank":Fuchs;Frank;;;
    TEL;VALUE=TEXT;TYPE=work:555-1
    TEL;VALUE=uri;TYPE="voice,cell":tel:+1-555-0110
    BDAY;VALUE=DATE:19850412
    NOTE:with\\, commas\\nand lines
    ORG:Fuchs AG;Bau
    X-CUSTOM1;VALUE=TEXT:one
    UID:0c1d2e3f-0000-4000-8000-000000000004
    END:VCARD`),
  'Thunderbird, without a name': card(`
    BEGIN:VCARD
    VERSION:4.0
    EMAIL;PREF=1:only@example.com
    UID:0c1d2e3f-0000-4000-8000-000000000005
    END:VCARD`),
  'Android, exported': card(`
    BEGIN:VCARD
    VERSION:2.1
    N;CHARSET=UTF-8;ENCODING=QUOTED-PRINTABLE:=C3=96zt=C3=BCrk;=C5=9Eule;;;
    FN;CHARSET=UTF-8;ENCODING=QUOTED-PRINTABLE:=C5=9Eule =C3=96zt=C3=BCrk
    TEL;CELL;PREF:0532-000-00-00
    TEL;X-CUSTOM(CHARSET=UTF-8,ENCODING=QUOTED-PRINTABLE,=C4=B0=C5=9F):0532
    EMAIL;HOME:sule@example.tr
    X-ANDROID-CUSTOM:vnd.android.cursor.item/nickname;Shu;1;;;;;;;;;;;;;
    NOTE;CHARSET=UTF-8;ENCODING=QUOTED-PRINTABLE:=C3=87ok uzun bir not ki sat=
    =C4=B1r k=C4=B1r=C4=B1l=C4=B1yor
    END:VCARD`),
  Evolution: card(`
    BEGIN:VCARD
    VERSION:3.0
    X-EVOLUTION-FILE-AS:Gomez\\, Gil
    FN:Gil Gomez
    N:Gomez;Gil;;;
    TEL;X-EVOLUTION-UI-SLOT=1;TYPE=WORK,VOICE:1
    TEL;X-EVOLUTION-UI-SLOT=2;TYPE=HOME:2
    EMAIL;X-EVOLUTION-UI-SLOT=1;TYPE=WORK:gil@example.org
    X-EVOLUTION-BLOG-URL:
    X-MOZILLA-HTML:FALSE
    NICKNAME:
    BDAY:1985-04-12
    UID:pas-id-1
    REV:2026-07-08T09:10:11Z(1)
    END:VCARD`),
  KAddressBook: card(`
    BEGIN:VCARD
    VERSION:4.0
    ADR:;;;;;;
    BDAY:19850412
    EMAIL:heike@example.de
    EMAIL;PREF=1;TYPE=work:heike@arbeit.example
    FN:Heike Hahn
    GEO:geo:52.520000,13.405000
    KIND:individual
    LANG:de
    N:Hahn;Heike;;;
    TEL;TYPE="cell,home":0151-1
    X-KADDRESSBOOK-X-Profession:Ärztin
    UID:h-1
    END:VCARD`),
  Roundcube: card(`
    BEGIN:VCARD
    VERSION:3.0
    N:Ito;Iris;;;
    FN:Iris Ito
    EMAIL;TYPE=INTERNET;TYPE=HOME:iris@example.org
    TEL;TYPE=homefax:1
    TEL;TYPE=workfax:2
    TEL;TYPE=main:3
    TEL;TYPE=car:4
    X-DEPARTMENT:IT
    X-MANAGER:Boss
    ORG:Ito KK
    END:VCARD`),
  'Exchange, by a bridge': card(`
    BEGIN:VCARD
    VERSION:3.0
    PRODID:-//davmail.sf.net/NONSGML DavMail Calendar V1.1//EN
    UID:jane
    N:Jansen;Jane;;;
    FN:Jane Jansen
    TEL;TYPE=cell:+31 6 1
    TEL;TYPE=work:+31 20 1
    TEL;TYPE=pager:+31 66 1
    EMAIL;TYPE=work:jane@example.nl
    EMAIL;TYPE=home:jane@home.example
    ORG:Jansen BV;Inkoop
    TITLE:Inkoper
    BDAY:1985-04-12T00:00:00Z
    NOTE:een\\ntwee
    END:VCARD`),
  Zimbra: card(`
    BEGIN:VCARD
    VERSION:3.0
    FN:Karl Kern
    N:Kern;Karl;;;
    TEL;TYPE=cell,voice:1
    EMAIL;TYPE=internet:karl@example.org
    NOTE:
    UID:z-1
    REV:2026-08-09T10:11:12Z
    X-ZIMBRA-TAG:a b
    END:VCARD`),
  'SOGo, a list': card(`
    BEGIN:VLIST
    VERSION:3.0
    UID:l-1.vlf
    FN:A list
    CARD;EMAIL=a@example.org;FN=A:x.vcf
    END:VLIST
    BEGIN:VCARD
    VERSION:3.0
    UID:s-1.vcf
    CLASS:PUBLIC
    FN:Lisa Lang
    N:Lang;Lisa
    EMAIL;TYPE=work:lisa@example.org
    EMAIL;TYPE=home:
    TEL;TYPE=cell:
    END:VCARD`),
  'Baïkal, with a location': card(`
    BEGIN:VCARD
    VERSION:4.0
    KIND:location
    FN:Meeting room
    N:;;;;
    TEL;TYPE=main-number:1
    UID:b-1
    END:VCARD`),
  Fastmail: card(`
    BEGIN:VCARD
    VERSION:3.0
    PRODID:-//CyrusIMAP.org//Cyrus 3.11//EN
    UID:f-1
    N:Moe;Mia;;;
    FN:Mia Moe
    EMAIL;TYPE=work;TYPE=pref:mia@example.com
    email1.EMAIL:mia@x.example
    email1.X-ABLabel:_$!<Other>!$_
    phone1.TEL;TYPE=work:1
    phone1.X-ABLabel:desk
    NICKNAME:Mi
    ONLINE1.X-SERVICE:x
    REV:2026-09-10T11:12:13Z
    END:VCARD`),
}
