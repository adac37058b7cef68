package table

import (
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// Normal returns the form in which names of columns are compared: without case, diacritics, punctuation around words,
// and repeated blanks.
func Normal(name string) string {
	var b strings.Builder
	for _, char := range norm.NFKD.String(strings.ToLower(strings.TrimPrefix(name, "\uFEFF"))) {
		switch {
		case unicode.Is(unicode.Mn, char), char == '*', char == '.', char == ',', char == ':', char == '\'', char == '’':
		case char == 'ß':
			b.WriteString("ss")
		case char == '_', char == '-', unicode.IsSpace(char):
			b.WriteByte(' ')
		default:
			b.WriteRune(char)
		}
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

// Fields returns the fields that a column of that name may hold, and whether it is named as the field itself.
func Fields(name string) (fields []string, exact bool) {
	normal := Normal(name)
	words := strings.Fields(normal)
	for i, word := range words {
		if slices.Contains([]string{"nr", "no", "num", "n°", "#"}, word) {
			words[i] = "number"
		}
	}
	// Words about tax are not part of the name.
	words = slices.DeleteFunc(words, func(word string) bool { return slices.Contains(taxWords, strings.Trim(word, "()")) })
	fields = fieldsByName[strings.Join(words, " ")]
	return fields, len(fields) > 0 && strings.ReplaceAll(normal, " ", "_") == strings.ReplaceAll(fields[0], ".", "_")
}

var (
	netWords   = []string{"ht", "netto", "excl", "net"}
	grossWords = []string{"ttc", "brutto", "incl", "gross"}
	taxWords   = slices.Concat(netWords, grossWords)
)

// TaxIncluded returns whether the name of a column says that its amounts include tax. known is false if it does not
// say.
func TaxIncluded(name string) (included, known bool) {
	for word := range strings.FieldsSeq(Normal(name)) {
		word = strings.Trim(word, "()")
		switch {
		case slices.Contains(grossWords, word):
			return true, true
		case slices.Contains(netWords, word):
			return false, true
		}
	}
	return false, false
}

var fieldsByName = func() map[string][]string {
	byName := map[string][]string{}
	for _, s := range synonyms {
		for _, name := range append(strings.Split(s.names, ","), strings.NewReplacer("_", " ", ".", " ").Replace(s.field)) {
			name = strings.Join(strings.Fields(name), " ")
			if !slices.Contains(byName[name], s.field) {
				byName[name] = append(byName[name], s.field)
			}
		}
	}
	return byName
}()

// synonyms are normal names of columns in English, German, French, Spanish and Dutch, with "number" for "no" and "nr".
// A name in two lists is only a proposal.
var synonyms = []struct{ field, names string }{
	{"sku", `sku code, item number, item code, article number, product code, stock code, stockcode, part number, model,
		style, ref, artikelnummer, art number, artikel number, artikelnr, artikelcode, produktnummer, bestellnummer,
		reference, reference produit, code article, code produit, ugs, referencia, codigo, codigo de producto,
		codigo articulo, productcode`},
	{"name", `title, product, product name, item, item name, bezeichnung, artikelbezeichnung, produkt, produktname,
		artikel, nom, titre, produit, designation, libelle, article, nombre, titulo, producto, articulo, denominacion,
		naam, titel, productnaam, omschrijving`},
	{"description", `long description, body, details, beschreibung, langtext, descriptif, descripcion, beschrijving`},
	{"price", `unit price, unitprice, selling price, retail price, regular price, list price, preis, vk, verkaufspreis,
		einzelpreis, stuckpreis, prix, prix unitaire, prix de vente, precio, precio unitario, precio de venta, pvp, prijs,
		verkoopprijs, stukprijs, eenheidsprijs`},
	{"msrp", `rrp, compare at price, uvp, listenpreis, prix conseille, prix barre, pvp recomendado, adviesprijs`},
	{"cost", `unit cost, cost price, purchase price, cogs, cost per item, ek, einkaufspreis, einstandspreis, kosten, cout,
		prix d achat, prix dachat, cout unitaire, costo, coste, precio de compra, kostprijs, inkoopprijs`},
	{"quantity", `stock, qty, on hand, inventory, available, in stock, units, pieces, count, items sold, bestand,
		lagerbestand, menge, anzahl, stuck, stuckzahl, quantite, qte, en stock, existencias, cantidad, inventario, unidades,
		uds, voorraad, aantal, stuks, hoeveelheid`},
	{"reorder_point", `reorder level, min stock, low stock amount, meldebestand, mindestbestand, seuil, stock minimum,
		seuil de reapprovisionnement, stock minimo, punto de pedido, minimumvoorraad, bestelpunt`},
	{"category_name", `category, type, product type, group, department, collection, kategorie, warengruppe, produktgruppe,
		categorie, rayon, famille, categoria, familia, tipo, groep, productgroep`},
	{"seller_name", `vendor, brand, supplier, manufacturer, seller, hersteller, lieferant, marke, marque, fournisseur,
		fabricant, marca, proveedor, fabricante, merk, leverancier, fabrikant`},
	{"warehouse_name", `warehouse, location, store, lager, lagerort, standort, filiale, entrepot, emplacement, depot,
		magasin, almacen, ubicacion, tienda, magazijn, locatie, filiaal`},
	{"bin_location", `bin, shelf, lagerplatz, regal, fach, emplacement, etagere, ubicacion, estante, schap, vak`},
	{"upc", `barcode, ean, ean13, gtin, isbn, strichcode, code barres, code barre, gencod, codigo de barras,
		streepjescode`},
	{"tags", `keywords, schlagworter, etiquettes, mots cles, etiquetas, labels, trefwoorden`},
	{"images", `image, image url, image urls, image link, image src, picture, pictures, photo, photos, picture url,
		photo url, bild, bilder, bild url, foto, fotos, photo du produit, imagen, imagenes, url de la imagen,
		url de l image, afbeelding, afbeeldingen`},
	{"status", `active, published, aktiv, statut, actif, estado, activo, actief`},
	{"condition", `zustand, etat, condicion, staat`},
	{"number", `order, order number, order id, invoice, invoice number, invoiceno, receipt, transaction id, bestellung,
		bestellnummer, auftragsnummer, rechnungsnummer, belegnummer, commande, numero de commande, facture,
		numero de facture, pedido, numero de pedido, factura, numero de factura, bestelling, bestelnummer, ordernummer,
		factuurnummer`},
	{"placed_at", `date, order date, created at, invoice date, invoicedate, sale date, datum, bestelldatum,
		rechnungsdatum, auftragsdatum, date de commande, date de facture, fecha, fecha de pedido, fecha de factura,
		besteldatum, factuurdatum`},
	{"time", `order time, uhrzeit, heure, hora, tijd`},
	{"channel", `source, sales channel, store, kanal, vertriebskanal, quelle, canal, origen, kanaal, bron`},
	{"customer.id", `customer number, customerid, kundennummer, numero client, code client, numero de cliente,
		klantnummer`},
	{"customer.name", `customer, buyer, bill to, kunde, kundenname, kaufer, client, nom du client, acheteur, cliente,
		nombre del cliente, comprador, klant, klantnaam, koper`},
	{"customer.email", `email, e mail, mail, courriel, adresse mail, correo, correo electronico, mailadres`},
	{"discount", `discount amount, coupon amount, rabatt, nachlass, skonto, remise, rabais, reduction, descuento,
		korting`},
	{"discount_total", `order discount`},
	{"tax_total", `tax, vat, taxes, sales tax, gst, tax amount, mwst, ust, umsatzsteuer, steuer, tva, taxe, montant tva,
		iva, impuestos, impuesto, btw, belasting`},
	{"shipping_total", `shipping, delivery, postage, freight, versand, versandkosten, porto, fracht, livraison,
		frais de port, expedition, envio, gastos de envio, portes, verzending, verzendkosten`},
	{"line_total", `total, amount, net sales, subtotal, gesamt, summe, betrag, gesamtpreis, montant, sous total, importe,
		totaal, bedrag, subtotaal, regeltotaal`},
	{"refund", `refunded, refunded amount, erstattung, gutschrift, erstattet, remboursement, avoir, rembourse, reembolso,
		devolucion, abono, terugbetaling, creditnota`},
	{"refunded_at", `refund date`},
	{"currency", `wahrung, devise, monnaie, moneda, divisa, valuta`},
}

// sums are the names of rows with a sum, in normal form.
var sums = []string{"total", "totals", "grand total", "subtotal", "sum", "summe", "gesamt", "gesamtsumme", "zwischensumme",
	"somme", "sous total", "total general", "suma", "totaal", "subtotaal", "eindtotaal", "totale"}

// IsSum reports whether a row of that name has the sum of the rows above it.
func IsSum(name string) bool { return slices.Contains(sums, Normal(name)) }
