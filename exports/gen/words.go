package main

// person is a name as the CRM shows it, and the local part of its address.
type person struct{ name, mailbox string }

var people = []person{
	{"María Gómez", "maria.gomez"}, {"Jürgen Groß", "juergen.gross"}, {"Łukasz Wójcik", "lukasz.wojcik"},
	{"Zoë O'Neill", "zoe.oneill"}, {"Søren Kjær", "soren.kjaer"}, {"田中 太郎", "taro.tanaka"},
	{"Олена Шевченко", "olena.shevchenko"}, {"Nguyễn Thị Hoa", "hoa.nguyen"}, {"François d'Arcy", "francois.darcy"},
	{"Ana-Sofia Ribeiro", "anasofia.ribeiro"}, {"Anna Schmidt", "anna.schmidt"}, {"Tom Becker", "tom.becker"},
	{"Siobhán Byrne", "siobhan.byrne"}, {"İpek Yılmaz", "ipek.yilmaz"}, {"John Smith", "john.smith"},
	{"Chiara De Luca", "chiara.deluca"}, {"Ole Müller-Lüdenscheidt", "ole.mueller"}, {"Ève Lefèvre", "eve.lefevre"},
	{"Karel Novák", "karel.novak"}, {"Priya Raman", "priya.raman"}, {"Björk Jónsdóttir", "bjork.jonsdottir"},
	{"Li Wei", "li.wei"}, {"Γιώργος Παππάς", "giorgos.pappas"}, {"Ruth Okafor", "ruth.okafor"},
}

// company is a customer and its domain.
type company struct{ name, domain string }

var companies = []company{
	{"Müller, Söhne & Co. KG", "mueller-soehne.example"}, {`Brontë "Books" Ltd`, "bronte-books.example"},
	{"Northwind 24 GmbH", "northwind24.example"}, {"Harbour, Light and Power", "harbourlight.example"},
	{"Øresund Logistik A/S", "oresund.example"}, {"Atelier Éclair SARL", "atelier-eclair.example"},
	{"Kowalski i Synowie", "kowalski.example"}, {"Blue Heron Dental", "blueheron.example"},
	{"Café Größenwahn", "cafe-gw.example"}, {"Tanaka Seiki 株式会社", "tanaka-seiki.example"},
	{"Alpha, Beta & Partners", "alphabeta.example"}, {"O'Hara Roofing", "ohara.example"},
	{"Verde Agrícola Lda.", "verde-agricola.example"}, {"Stadtwerke Weiden", "sw-weiden.example"},
	{"Lindqvist Möbler AB", "lindqvist.example"}, {"Quarry & Stone", "quarrystone.example"},
	{"Helvetia Präzision AG", "helvetia-praezision.example"}, {"Seven Hills Hotels", "sevenhills.example"},
}

var (
	owners   = []string{"Nora Weiß", "Peter Lang", "Amélie Laurent", "Samuel Osei", "Jonas Brandt"}
	products = []string{"CRM Starter", "Analytics 360", "Field Service Pack", "Support Plus", ""}
	projects = []string{
		"Renewal 2027", "Warehouse rollout, phase 2", `Pilot "North"`, "Café terminals", "Data migration",
		"Fleet tracking", "Site survey\nand installation", "Helpdesk, second line", "Self-service kiosks",
		"Training für alle", "Spare parts portal", "Reporting",
	}
	notes = []string{
		"", "", "", "Called twice, no answer.", "Wants an offer in writing, not by phone.",
		"Budget \"probably\" next year", "Met at the fair.\nAsked for references,\nsend the brochure.",
		"Decision with the board; ask again", "Prefers e-mail", "Überarbeitetes Angebot nötig",
	}
	phones = []string{"", "+49 30 1234567", "+44 20 7946 0000", "030/765432", "(041) 555-0100"}
	// factors turn EUR into about as much of a currency.
	factors = []struct {
		currency string
		factor   float64
	}{{"EUR", 1}, {"EUR", 1}, {"EUR", 1}, {"USD", 1.09}, {"GBP", 0.85}, {"CHF", 0.95}}
)
